/**
 * Batches of embeddings with Google's Gemini API, through its SDK
 * (https://ai.google.dev/gemini-api/docs/batch-api). A line of a file is one text with a key, and
 * the line of its answer has the same key. Answers are matched by the key and never by their order:
 * a line without a key, or without a vector, is no answer, and its text is embedded directly.
 */
import type { BatchJob } from '@google/genai';
import type { BatchAnswer, BatchState, EmbeddingBatches } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  answersIn,
  BATCH_TEXTS_MAX,
  linesWithin,
  objectIn,
  removedOrAbsent,
} from './batch-lines.ts';
import type { OpenConnection } from './connection.ts';
import { CHARACTERS_PER_TOKEN, embeddingUsage, faultIn, isCount, requestTo } from './embedding.ts';
import { connectGoogle, type GoogleFilesClient } from './google-connect.ts';
import type { EmbeddingSettings } from './model.ts';
import type { Fetch } from './stream.ts';

const REQUEST_MS = 60_000;
const TRANSFER_MS = 1_200_000;
const OFFICIAL_SHARE = 0.5;
const LISTED_AT_ONCE = 100;

export function createGoogleBatches(
  connection: OpenConnection,
  { model, dimensions }: EmbeddingSettings,
): EmbeddingBatches {
  const lineOf = (key: string, text: string): string => {
    const content = { parts: [{ text }] };
    const taskType = 'RETRIEVAL_DOCUMENT';
    const request = { content, taskType, ...defined({ outputDimensionality: dimensions }) };
    return JSON.stringify({ key: keyWith(key, text), request });
  };
  const request: Request = (signal, ask, limitMs = REQUEST_MS) =>
    requestTo(connection, { signal, limitMs }, async ({ fetch, signal: limited }) =>
      ask(await connectGoogle(connection, bound(fetch, limited))),
    );
  return {
    textsMax: BATCH_TEXTS_MAX,
    ...ofFiles(request, lineOf, connection),
    ...ofBatches(request, model),
    usageOf: (inputTokens) =>
      embeddingUsage(connection, model, inputTokens, connection.official ? OFFICIAL_SHARE : 1),
  };
}

/** @throws TroupeError as an embedder */
type Request = <Answer>(
  signal: AbortSignal,
  ask: (client: GoogleFilesClient) => Promise<Answer>,
  limitMs?: number,
) => Promise<Answer>;

/** The SDK passes no signal to an upload. */
const bound =
  (fetch: Fetch, signal: AbortSignal): Fetch =>
  (url, init) =>
    fetch(url, { ...init, signal });

const ofFiles = (
  request: Request,
  lineOf: (key: string, text: string) => string,
  connection: OpenConnection,
): Pick<EmbeddingBatches, 'file' | 'answers' | 'remove'> => ({
  async file(texts) {
    const { keys, contents } = await linesWithin(texts, lineOf);
    const upload = (signal: AbortSignal) =>
      request(
        signal,
        async ({ files }) => nameOf(await files.upload({ file: contents, config: AS_LINES })),
        TRANSFER_MS,
      );
    return { keys, upload };
  },
  async *answers(name, signal) {
    // the SDK downloads into files only
    const download = `${name}:download?alt=media`;
    const response = await request(signal, ({ get }) => get(download), TRANSFER_MS);
    yield* answersIn(response, answerOf, { connection, signal });
  },
  remove: (name, signal) => removedOrAbsent(request(signal, ({ files }) => files.delete({ name }))),
});

const AS_LINES = { mimeType: 'application/jsonl', displayName: 'texts.jsonl' };

const ofBatches = (
  request: Request,
  model: string,
): Pick<EmbeddingBatches, 'create' | 'find' | 'look' | 'cancel'> => ({
  create: (fileName, ticket, signal) =>
    request(signal, async ({ batches }) => {
      // The ticket is its name for people, because a batch has no other metadata.
      const config = { displayName: ticket };
      return nameOf(await batches.createEmbeddings({ model, src: { fileName }, config }));
    }),
  find: (ticket, _, signal) =>
    request(signal, async ({ batches }) => {
      // Their order is not documented, so all are listed.
      for await (const batch of await batches.list({ config: { pageSize: LISTED_AT_ONCE } }))
        if (batch.displayName === ticket) return nameOf(batch);
      return undefined;
    }),
  look: (name, signal) =>
    request(signal, async ({ batches, get }) => {
      const state = stateOf(await batches.get({ name }));
      return state.status === 'failed' ? { ...state, ...(await whyIn(await get(name))) } : state;
    }),
  cancel: (name, signal) => request(signal, ({ batches }) => batches.cancel({ name })),
});

/** @throws TroupeError INTERNAL: the provider accepted it without a name */
function nameOf({ name }: { readonly name?: string }): string {
  if (name !== undefined) return name;
  throw new TroupeError('INTERNAL', 'the provider has answered no name');
}

const ENDS: Readonly<Record<string, BatchState['status']>> = {
  JOB_STATE_SUCCEEDED: 'completed',
  JOB_STATE_PARTIALLY_SUCCEEDED: 'completed',
  JOB_STATE_FAILED: 'failed',
  JOB_STATE_EXPIRED: 'expired',
  JOB_STATE_CANCELLED: 'cancelled',
};

const stateOf = ({ state, dest }: BatchJob): BatchState => ({
  status: (state && ENDS[state]) ?? 'running',
  files: dest?.fileName === undefined ? [] : [dest.fileName],
});

/** The SDK leaves out why a batch has failed. */
async function whyIn(response: Response): Promise<Pick<BatchState, 'why'>> {
  const { error }: { error?: { message?: string } } = objectIn(await response.text());
  return defined({ why: error?.message });
}

type Line = {
  readonly key?: unknown;
  readonly response?: {
    readonly embedding?: { readonly values?: readonly number[] };
    readonly tokenCount?: string | number;
  } | null;
};

/** undefined: no answer about a text */
function answerOf(text: string): BatchAnswer | undefined {
  const line: Line = objectIn(text);
  const [, key, estimate] = KEY.exec(String(line.key)) ?? [];
  if (key === undefined) return undefined;
  const values = line.response?.embedding?.values;
  if (!Array.isArray(values)) return { key, inputTokens: 0 };
  const counted = Number(line.response?.tokenCount ?? Number.NaN);
  const vector = Float32Array.from(values as readonly number[]);
  const inputTokens = isCount(counted) ? counted : Number(estimate);
  return { key, inputTokens, ...(faultIn(vector) === undefined && { vector }) };
}

const KEY = /^(.+) (\d+)$/;

/** With the estimated tokens of the text, for answers that do not report them. */
const keyWith = (key: string, { length }: string): string =>
  `${key} ${Math.ceil(length / CHARACTERS_PER_TOKEN)}`;
