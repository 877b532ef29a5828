/**
 * What embedders of all providers have in common: the time limit of a request, errors, the check
 * of answers, and the cost.
 */
import type { Embedded, EmbeddedAs, Embedder } from '../../memory/index.ts';
import { DIMENSIONS_MAX } from '../../memory/index.ts';
import { defined } from '../../protocols/defined.ts';
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
const CHARACTERS_PER_TOKEN = 4;

/** @param api which protocol; part of the identity, because it decides how texts are sent */
export function createEmbedder(
  open: OpenConnection,
  api: string,
  settings: EmbeddingSettings,
  ask: (request: EmbeddingRequest) => Promise<EmbeddingAnswer>,
): Embedder {
  const { model, dimensions } = settings;
  const name = `${open.id}/${model}`;
  const price = modelOf(open, model).price ?? priceOf(model);
  return {
    name,
    identity: [api, open.baseUrl, model, dimensions ?? 'all'].join(' '),
    async embed(texts, as, signal): Promise<Embedded> {
      let headers: Headers | undefined;
      const fetched: Fetch = async (url, init) => {
        const response = await fetch(url, init);
        headers = response.headers;
        return response;
      };
      try {
        const limited = signalWithin(signal, REQUEST_MS);
        const answer = await ask({ texts, as, signal: limited, fetch: fetched });
        const vectors = checked(answer.vectors, texts.length);
        const characters = texts.reduce((sum, text) => sum + text.length, 0);
        const inputTokens = isCount(answer.inputTokens)
          ? answer.inputTokens
          : Math.ceil(characters / CHARACTERS_PER_TOKEN);
        const usage = { inputTokens, outputTokens: 0 };
        return { vectors, usage: { ...usage, ...defined({ costUsd: costOf(usage, price) }) } };
      } catch (error) {
        signal.throwIfAborted();
        throw classified(failureOf(error, open.failure, headers));
      }
    },
  };
}

const isCount = (value: number | undefined): value is number =>
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
    const { length } = vector;
    if (length === 0 || length > DIMENSIONS_MAX || length !== vectors[0]?.length)
      throw new MalformedEvent(`vector ${at} has ${length} components`);
    if (!vector.every(Number.isFinite)) throw new MalformedEvent(`vector ${at} is not finite`);
    if (vector.every((component) => component === 0))
      throw new MalformedEvent(`vector ${at} is zero`);
    return vector;
  });
}
