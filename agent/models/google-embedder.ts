/** Embeddings of Google's Gemini API, through its SDK. */
import type { EmbeddedAs, Embedder } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import type { OpenConnection } from './connection.ts';
import { createEmbedder, type EmbeddingAnswer, type EmbeddingRequest } from './embedding.ts';
import { createGoogleBatches } from './google-batches.ts';
import { googleClientOf } from './google-connect.ts';
import type { EmbeddingSettings } from './model.ts';

const TASKS: Readonly<Record<EmbeddedAs, string>> = {
  document: 'RETRIEVAL_DOCUMENT',
  query: 'RETRIEVAL_QUERY',
};

export function createGoogleEmbedder(
  connection: OpenConnection,
  settings: EmbeddingSettings,
): Embedder {
  const { model, dimensions } = settings;
  const client = googleClientOf(connection);
  const ask = async ({ texts, as, signal, fetch }: EmbeddingRequest): Promise<EmbeddingAnswer> => {
    const { models, httpOptionsFor } = await client();
    const { embeddings = [] } = await models.embedContent({
      model,
      contents: [...texts],
      config: {
        taskType: TASKS[as],
        ...defined({ outputDimensionality: dimensions }),
        abortSignal: signal,
        httpOptions: httpOptionsFor(fetch),
      },
    });
    return { vectors: embeddings.map(({ values }) => values) };
  };
  return {
    ...createEmbedder(connection, 'google', { model, dimensions }, ask),
    batches: createGoogleBatches(connection, settings),
  };
}
