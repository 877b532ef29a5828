/** Embeddings of OpenAI and of servers with its API, through its SDK. */
import type { Embedder } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import { MalformedEvent } from './answer.ts';
import type { OpenConnection } from './connection.ts';
import { createEmbedder } from './embedding.ts';
import type { EmbeddingSettings } from './model.ts';
import { connectOpenAi } from './openai-connect.ts';

export const createOpenAiEmbedder = (
  connection: OpenConnection,
  { model, dimensions }: EmbeddingSettings,
): Embedder =>
  createEmbedder(connection, 'openai', { model, dimensions }, async ({ texts, signal, fetch }) => {
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
  });

/** Some servers answer base64 although numbers were asked for. */
function numbersOf(embedding: readonly number[] | string): ArrayLike<number> {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Uint8Array.from(Buffer.from(embedding, 'base64'));
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}
