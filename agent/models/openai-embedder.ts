/** Embeddings of OpenAI and of servers with its API, through its SDK. */
import type { Embedder } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import { MalformedEvent } from './answer.ts';
import type { OpenConnection } from './connection.ts';
import { createEmbedder, type EmbeddingAnswer, type EmbeddingRequest } from './embedding.ts';
import type { EmbeddingSettings } from './model.ts';
import { createOpenAiBatches } from './openai-batches.ts';
import { connectOpenAi } from './openai-connect.ts';
import { numbersOf } from './openai-vectors.ts';

export const createOpenAiEmbedder = (
  connection: OpenConnection,
  settings: EmbeddingSettings,
): Embedder => {
  const { model, dimensions } = settings;
  const ask = async ({ texts, signal, fetch }: EmbeddingRequest): Promise<EmbeddingAnswer> => {
    const client = await connectOpenAi(connection, fetch);
    const { data, usage } = await client.embeddings.create(
      {
        model,
        ...defined({ dimensions }),
        input: [...texts],
        // The SDK asks for base64 by itself, which some compatible servers ignore.
        ...(connection.official ? {} : { encoding_format: 'float' as const }),
      },
      { signal },
    );
    if (!Array.isArray(data)) throw new MalformedEvent('the answer has no list data');
    const vectors: ArrayLike<number>[] = [];
    for (const [at, { index = at, embedding }] of data.entries())
      vectors[index] = numbersOf(embedding);
    return { vectors, inputTokens: usage?.prompt_tokens };
  };
  return {
    ...createEmbedder(connection, 'openai', { model, dimensions }, ask),
    batches: createOpenAiBatches(connection, settings),
  };
};
