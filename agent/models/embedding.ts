/**
 * What embedders of all providers have in common: the time limit of a request, errors, the check
 * of answers, and the cost.
 */
import type { Embedded, EmbeddedAs, Embedder } from '../../memory/index.ts';
import { DIMENSIONS_MAX } from '../../memory/index.ts';
import type { Usage } from '../../protocols/models/model-usage.ts';
import { signalWithin } from '../../protocols/time-limit.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { MalformedEvent } from './answer.ts';
import { modelOf, type OpenConnection } from './connection.ts';
import { costOf } from './cost.ts';
import { failureOf } from './failure.ts';
import { EMBEDDING_PRICES } from './known-models.ts';
import type { EmbeddingSettings } from './model.ts';
import type { Fetch } from './stream.ts';

export type EmbeddingRequest = {
  readonly texts: readonly string[];
  readonly as: EmbeddedAs;
  readonly signal: AbortSignal;
  readonly fetch: Fetch;
};
export type EmbeddingAnswer = {
  /** in the order of the texts; unchecked */
  readonly vectors: readonly (ArrayLike<number> | undefined)[];
  /** absent: the API does not report it, so it is estimated */
  readonly inputTokens?: number | undefined;
};

const REQUEST_MS = 60_000;
/** For APIs that report no usage. */
export const CHARACTERS_PER_TOKEN = 4;

/** @param api which protocol; part of the identity, because it decides how texts are sent */
export function createEmbedder(
  open: OpenConnection,
  api: string,
  settings: EmbeddingSettings,
  ask: (request: EmbeddingRequest) => Promise<EmbeddingAnswer>,
): Embedder {
  const { model, dimensions } = settings;
  return {
    name: `${open.id}/${model}`,
    identity: [api, open.baseUrl, model, dimensions ?? 'all'].join(' '),
    embed: (texts, as, signal): Promise<Embedded> =>
      requestTo(open, { signal, limitMs: REQUEST_MS }, async (request) => {
        const answer = await ask({ texts, as, ...request });
        const vectors = checked(answer.vectors, texts.length);
        const characters = texts.reduce((sum, text) => sum + text.length, 0);
        const inputTokens = isCount(answer.inputTokens)
          ? answer.inputTokens
          : Math.ceil(characters / CHARACTERS_PER_TOKEN);
        return { vectors, usage: embeddingUsage(open, model, inputTokens) };
      }),
  };
}

/**
 * Sends a request to a provider. @throws TroupeError as an embedder; the reason of the signal
 * @param ask receives a signal with the time limit, and the `fetch` to use
 */
export async function requestTo<Answer>(
  open: OpenConnection,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
  ask: (request: Pick<EmbeddingRequest, 'signal' | 'fetch'>) => Promise<Answer>,
): Promise<Answer> {
  let headers: Headers | undefined;
  const fetched: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    headers = response.headers;
    return response;
  };
  try {
    return await ask({ signal: signalWithin(signal, limitMs), fetch: fetched });
  } catch (error) {
    signal.throwIfAborted();
    throw embedderFailure(open, error, headers);
  }
}

/** What an embedder throws for this error of a request or its answer. */
export const embedderFailure = (
  open: OpenConnection,
  error: unknown,
  headers?: Headers,
): TroupeError => classified(failureOf(error, open.failure, headers));

/** @param share of the model's price that is charged; the cost is absent without a price */
export function embeddingUsage(
  open: OpenConnection,
  model: string,
  inputTokens: number,
  share = 1,
): Usage {
  const usage = { inputTokens, outputTokens: 0 };
  const costUsd = costOf(usage, modelOf(open, model).price ?? priceOf(model));
  return costUsd === undefined ? usage : { ...usage, costUsd: costUsd * share };
}

export const isCount = (value: number | undefined): value is number =>
  Number.isSafeInteger(value) && value! >= 0;

/** A server that has no such model answers 404, which says nothing about the texts. */
const NO_MODEL_STATUSES: readonly unknown[] = [404, 405, 410];
/** Some servers answer 500 to a text that is too long, such as llama.cpp. */
const TOO_LONG = /too (?:long|large)|context[ _](?:length|window|size)/i;

/** With INVALID_ARGUMENT for a refused text and for nothing else. */
function classified(error: TroupeError): TroupeError {
  const { code, message, details = {} } = error;
  if (code === 'INVALID_ARGUMENT' && NO_MODEL_STATUSES.includes(details['status']))
    return new TroupeError('NOT_FOUND', message, { details });
  if (code === 'UNAVAILABLE' && TOO_LONG.test(message))
    return new TroupeError('INVALID_ARGUMENT', message, { details });
  return error;
}

const priceOf = (model: string) =>
  EMBEDDING_PRICES[model] === undefined ? undefined : { input: EMBEDDING_PRICES[model], output: 0 };

/** @throws MalformedEvent */
function checked(vectors: EmbeddingAnswer['vectors'], count: number): readonly Float32Array[] {
  if (vectors.length !== count)
    throw new MalformedEvent(`${vectors.length} vectors for ${count} texts`);
  return Array.from(vectors, (one, at) => {
    const vector = Float32Array.from(one ?? []);
    const fault = vector.length === vectors[0]?.length ? faultIn(vector) : lengthOf(vector);
    if (fault !== undefined) throw new MalformedEvent(`vector ${at} ${fault}`);
    return vector;
  });
}

/** Why it is no vector of a text. */
export function faultIn(vector: Float32Array): string | undefined {
  if (vector.length === 0 || vector.length > DIMENSIONS_MAX) return lengthOf(vector);
  if (!vector.every(Number.isFinite)) return 'is not finite';
  return vector.every((component) => component === 0) ? 'is zero' : undefined;
}

const lengthOf = ({ length }: Float32Array): string => `has ${length} components`;
