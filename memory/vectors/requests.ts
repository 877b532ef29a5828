/**
 * EmbeddingRequests: requests to an embedder, with repeats while there is time, and with a pause
 * after a failure. It keeps the vectors of the latest questions, and counts what was used.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { NO_USAGE, sum, type Usage } from '../../protocols/models/model-usage.ts';
import type { EmbeddedAs, Embedder } from '../embedder.ts';

export type RequestLimits = {
  /** No attempt begins after this time, of `performance.now()`. */
  readonly until: number;
  readonly signal: AbortSignal;
};

/** A model that failed is not asked for so long, unless it says how long. */
const PAUSE_MS = 60_000;
const ATTEMPTS_MAX = 4;
const RETRY_MS = 500;
const QUESTIONS_MAX = 100;

export class EmbeddingRequests {
  readonly #embedder: Embedder;
  readonly #questions = new Map<string, Float32Array>();
  #pause: { readonly why: string; readonly until: number } | undefined;
  #usage: Usage = NO_USAGE;
  #hasAnswered = false;

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
  }

  /** Whether the model has answered anything. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** What was used since the last call. */
  takeUsage(): Usage {
    const usage = this.#usage;
    this.#usage = NO_USAGE;
    return usage;
  }

  /** @throws TroupeError of the embedder; UNAVAILABLE during a pause; the reason of the signal */
  async embed(
    texts: readonly string[],
    as: EmbeddedAs,
    { until, signal }: RequestLimits,
  ): Promise<readonly Float32Array[]> {
    for (let attempt = 1; ; attempt++) {
      if (this.#pause && performance.now() < this.#pause.until) throw new Paused(this.#pause.why);
      try {
        const { vectors, usage } = await this.#embedder.embed(texts, as, signal);
        this.#usage = sum(this.#usage, usage);
        this.#hasAnswered = true;
        return vectors;
      } catch (error) {
        const waitMs = retryAfter(error, attempt);
        if (waitMs === undefined || performance.now() + waitMs > until) throw error;
        await wait(waitMs, undefined, { signal });
      }
    }
  }

  /** @throws as `embed` */
  async question(text: string, limits: RequestLimits): Promise<Float32Array> {
    const known = this.#questions.get(text);
    if (known) return known;
    const [vector] = await this.embed([text], 'query', limits);
    const [oldest] = this.#questions.keys();
    if (this.#questions.size >= QUESTIONS_MAX) this.#questions.delete(oldest!);
    this.#questions.set(text, vector!);
    return vector!;
  }

  forgetQuestion(text: string): void {
    this.#questions.delete(text);
  }

  /** The failure of a request, or of what was done with its answer: the model is left alone. */
  pauseAfter(error: unknown, why: string): void {
    if (error instanceof Paused) return;
    const { retryAfterMs = PAUSE_MS } = error instanceof TroupeError ? error : {};
    this.#pause = { why, until: performance.now() + Math.min(retryAfterMs, PAUSE_MS) };
  }
}

/** During a pause: the failure that began it. */
class Paused extends TroupeError {
  constructor(why: string) {
    super('UNAVAILABLE', why);
  }
}

/** undefined: not again */
function retryAfter(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof TroupeError) || attempt === ATTEMPTS_MAX) return undefined;
  if (error.code !== 'RATE_LIMIT_EXCEEDED' && error.code !== 'UNAVAILABLE') return undefined;
  return error.retryAfterMs ?? RETRY_MS * 2 ** (attempt - 1);
}
