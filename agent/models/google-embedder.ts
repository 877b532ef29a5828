/** Embeddings of Google's Gemini API, through its SDK. */
import type { EmbeddedAs, Embedder } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import type { OpenConnection } from './connection.ts';
import { createEmbedder } from './embedding.ts';
import { googleClientOf } from './google-connect.ts';
import type { EmbeddingSettings } from './model.ts';

const TASKS: Readonly<Record<EmbeddedAs, string>> = {
  document: 'RETRIEVAL_DOCUMENT',
  query: 'RETRIEVAL_QUERY',
};

export function createGoogleEmbedder(
  connection: OpenConnection,
  { model, dimensions }: EmbeddingSettings,
): Embedder {
  const client = googleClientOf(connection);
  const settings = { model, dimensions };
  return createEmbedder(connection, 'google', settings, async ({ texts, as, signal, fetch }) => {
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
  });
}
