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
    const answer = await client.embeddings.create(
      {
        model,
        ...defined({ dimensions }),
        input: [...texts],
        // The SDK asks for base64 by itself, which some compatible servers ignore.
        ...(connection.official ? {} : { encoding_format: 'float' as const }),
      },
      { signal },
    );
    // A compatible server may answer any JSON.
    const { data, usage } = (answer ?? {}) as Partial<typeof answer>;
    if (!Array.isArray(data)) throw new MalformedEvent('the answer has no list data');
    const vectors: ArrayLike<number>[] = [];
    for (const [at, one] of data.entries()) {
      const { index = at, embedding } = (one ?? {}) as Partial<typeof one>;
      if (embedding === undefined) throw new MalformedEvent(`data ${at} has no embedding`);
      vectors[index] = numbersOf(embedding);
    }
    return { vectors, inputTokens: usage?.prompt_tokens };
  };
  return {
    ...createEmbedder(connection, 'openai', { model, dimensions }, ask),
    batches: createOpenAiBatches(connection, settings),
  };
};
