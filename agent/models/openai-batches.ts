/**
 * Batches of embeddings with OpenAI's Batch API, through its SDK
 * (https://platform.openai.com/docs/api-reference/batch). A line of a file is one text; its
 * `custom_id` is the key of the text, because answers come in any order.
 */
import type OpenAI from 'openai';
import type { BatchAnswer, BatchState, EmbeddingBatches } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
import {
  answersIn,
  BATCH_TEXTS_MAX,
  linesWithin,
  objectIn,
  removedOrAbsent,
} from './batch-lines.ts';
import type { OpenConnection } from './connection.ts';
import { embeddingUsage, faultIn, isCount, requestTo } from './embedding.ts';
import type { EmbeddingSettings } from './model.ts';
import { connectOpenAi } from './openai-connect.ts';
import { numbersOf } from './openai-vectors.ts';

const ENDPOINT = '/v1/embeddings';
const REQUEST_MS = 60_000;
const TRANSFER_MS = 1_200_000;
const TICKET = 'troupe_ticket';
/** The clock of the provider may differ. */
const CLOCKS_MS = 3_600_000;
const OFFICIAL_SHARE = 0.5;

export function createOpenAiBatches(
  connection: OpenConnection,
  { model, dimensions }: EmbeddingSettings,
): EmbeddingBatches {
  const encoding = connection.official ? 'base64' : 'float';
  const lineOf = (key: string, input: string): string => {
    const body = { model, input, encoding_format: encoding, ...defined({ dimensions }) };
    return JSON.stringify({ custom_id: key, method: 'POST', url: ENDPOINT, body });
  };
  const request: Request = (signal, ask, limitMs = REQUEST_MS) =>
    requestTo(connection, { signal, limitMs }, async ({ fetch, signal: limited }) =>
      ask(await connectOpenAi(connection, fetch), limited),
    );
  return {
    textsMax: BATCH_TEXTS_MAX,
    ...ofFiles(request, lineOf, connection),
    ...ofBatches(request),
    usageOf: (inputTokens) =>
      embeddingUsage(connection, model, inputTokens, connection.official ? OFFICIAL_SHARE : 1),
  };
}

/** @throws TroupeError as an embedder */
type Request = <Answer>(
  signal: AbortSignal,
  ask: (client: OpenAI, signal: AbortSignal) => Promise<Answer>,
  limitMs?: number,
) => Promise<Answer>;

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
        async ({ files }, limited) =>
          (await files.create({ file: contents, purpose: 'batch' }, { signal: limited })).id,
        TRANSFER_MS,
      );
    return { keys, upload };
  },
  async *answers(id, signal) {
    const response = await request(
      signal,
      ({ files }, limited) => files.content(id, { signal: limited }),
      TRANSFER_MS,
    );
    yield* answersIn(response, answerOf, { connection, signal });
  },
  remove: (id, signal) =>
    removedOrAbsent(request(signal, ({ files }, limited) => files.delete(id, { signal: limited }))),
});

const ofBatches = (
  request: Request,
): Pick<EmbeddingBatches, 'create' | 'find' | 'look' | 'cancel'> => ({
  create: (input, ticket, signal) =>
    request(signal, async ({ batches }, limited) => {
      const wanted = {
        input_file_id: input,
        endpoint: ENDPOINT,
        completion_window: '24h',
        metadata: { [TICKET]: ticket },
      } as const;
      return (await batches.create(wanted, { signal: limited })).id;
    }),
  find: (ticket, sinceMs, signal) =>
    request(signal, async ({ batches }, limited) => {
      // newest first
      for await (const batch of batches.list({ limit: 100 }, { signal: limited })) {
        if (batch.metadata?.[TICKET] === ticket) return batch.id;
        if (batch.created_at * 1_000 < sinceMs - CLOCKS_MS) return undefined;
      }
      return undefined;
    }),
  look: (id, signal) =>
    request(signal, async ({ batches }, limited) =>
      stateOf(await batches.retrieve(id, { signal: limited })),
    ),
  cancel: (id, signal) =>
    request(signal, async ({ batches }, limited) => {
      await batches.cancel(id, { signal: limited });
    }),
});

const ENDS: Readonly<Record<string, BatchState['status']>> = {
  completed: 'completed',
  failed: 'failed',
  expired: 'expired',
  cancelled: 'cancelled',
};

function stateOf({ status, errors, output_file_id, error_file_id }: OpenAI.Batch): BatchState {
  const files = [output_file_id, error_file_id].filter((id): id is string => Boolean(id));
  const [first] = errors?.data ?? [];
  return { status: ENDS[status] ?? 'running', files, ...defined({ why: first?.message }) };
}

type Line = {
  readonly custom_id?: unknown;
  readonly response?: {
    readonly status_code?: number;
    readonly body?: {
      readonly data?: readonly { readonly embedding?: number[] | string }[];
      readonly usage?: { readonly prompt_tokens?: number };
    };
  } | null;
};

/** undefined: no answer about a text */
function answerOf(text: string): BatchAnswer | undefined {
  const { custom_id: key, response }: Line = objectIn(text);
  if (typeof key !== 'string') return undefined;
  const { data, usage } = response?.body ?? {};
  const used = usage?.prompt_tokens;
  const inputTokens = isCount(used) ? used : 0;
  if (response?.status_code !== 200) return { key, inputTokens };
  const vector = Float32Array.from(numbersOf(data?.[0]?.embedding ?? []));
  return { key, inputTokens, ...(faultIn(vector) === undefined && { vector }) };
}
