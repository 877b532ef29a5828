/**
 * The stream loop that all providers share: waiting with a limit, abort, the end of a stream,
 * errors. An adapter says only how its provider's stream is opened and what each of its events
 * means.
 *
 * Invariants (beside those of model.ts):
 *  1. The idle limit runs only while we wait for the provider, not while the consumer thinks.
 *  2. Every byte counts as life, so that keep-alive pings (which the SDKs swallow) do.
 *  3. However the loop is left, the request is aborted and no timer or listener stays.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { Answer, MalformedEvent } from './answer.ts';
import { cutStream, type FailureContext, failureOf, ReportedError } from './failure.ts';
import type { ModelEvent, StreamOptions } from './model.ts';

export type Fetch = typeof globalThis.fetch;

/** What waiting needs of the runtime's Clock. */
export type CallClock = {
  /** milliseconds since the epoch */
  wallMs(): number;
  /** milliseconds of a clock that nobody sets */
  monotonicMs(): number;
  /** calls once after at least delayMs; returns cancel */
  after(delayMs: number, call: () => void): () => void;
};

/** One provider's protocol. */
export type Wire<Event> = {
  /** Opens the stream; `fetch` must carry it and `signal` must end it. May throw anything. */
  open(signal: AbortSignal, fetch: Fetch): Promise<AsyncIterable<Event>>;
  /** Hears one event. Unknown event types are to be ignored: providers add some every month. */
  read(event: Event, answer: Answer): void;
};

/**
 * After the end event the body should end at once. Waiting for that keeps the connection for the
 * next call, and a last chunk may still bring the usage; but not longer than this, milliseconds.
 */
const afterEndMs = 1_000;

/** Runs one call as model.ts promises. */
export async function* streamAnswer<Event>(
  wire: Wire<Event>,
  options: StreamOptions,
  context: FailureContext,
  clock: CallClock,
): AsyncGenerator<ModelEvent, void, undefined> {
  const wait = new Wait(options, clock);
  const answer = new Answer();
  let events = 0;
  try {
    const opened = await wait.until(() => wire.open(wait.signal, wait.fetch));
    const iterator = opened[Symbol.asyncIterator]();
    for (;;) {
      const next = await wait.until(() => iterator.next());
      if (next.done) break;
      events++;
      hear(wire, next.value, answer);
      yield* answer.take();
      if (answer.ended) wait.shorten(afterEndMs);
    }
  } catch (thrown) {
    // whatever happens after the end event, the answer is whole
    if (!answer.ended || options.signal.aborted) {
      throw failureOf(wait.verdict ?? thrown, context, wait.headers);
    }
  } finally {
    wait.close();
  }
  if (!answer.ended) throw failureOf(wait.verdict ?? cutStream(events, context), context);
  yield answer.done();
}

/**
 * An error thrown while reading an event is the event's fault, unless the event was itself an
 * error.
 */
const hear = <Event>(wire: Wire<Event>, event: Event, answer: Answer): void => {
  try {
    wire.read(event, answer);
  } catch (thrown) {
    if (thrown instanceof ReportedError || thrown instanceof MalformedEvent) throw thrown;
    throw new MalformedEvent(thrown instanceof Error ? thrown.message : String(thrown));
  }
};

/** Why a request that has ended is aborted: one for all, since to make one takes a stack each. */
const OVER = new DOMException('the stream is over', 'AbortError');

/** Waiting for a provider: at most so long, and not after the caller gave up. */
class Wait {
  readonly #caller: AbortSignal;
  readonly #clock: CallClock;
  readonly #request = new AbortController();
  readonly #giveUp = () => this.#stop(new TroupeError('CANCELLED', 'The model call was cancelled'));
  #idleTimeoutMs: number;
  #disarm: (() => void) | undefined;
  #interrupt: ((why: TroupeError) => void) | undefined;
  #verdict: TroupeError | undefined;
  #headers: Headers | undefined;

  constructor({ signal, idleTimeoutMs }: StreamOptions, clock: CallClock) {
    this.#caller = signal;
    this.#clock = clock;
    this.#idleTimeoutMs = idleTimeoutMs;
    if (signal.aborted) this.#giveUp();
    else signal.addEventListener('abort', this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  /** Why we stopped waiting, if it was we who stopped. */
  get verdict(): TroupeError | undefined {
    return this.#verdict;
  }

  /** Of the last answer. */
  get headers(): Headers | undefined {
    return this.#headers;
  }

  /** Global fetch, with every byte of the body counted as life. */
  readonly fetch: Fetch = async (url, init) => {
    const response = await this.#ask(url, init);
    this.#touch();
    this.#headers = response.headers;
    if (response.body === null) return response;
    const seen = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => {
        this.#touch();
        out.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(seen), response);
  };

  /**
   * A connection of the pool may have been closed at the other end just as the request went out on
   * it: then nobody answered, and it goes out once more. A model call may be repeated.
   */
  async #ask(...[url, init]: Parameters<Fetch>): Promise<Response> {
    try {
      return await globalThis.fetch(url, init);
    } catch (thrown) {
      const { cause } = thrown as { cause?: { code?: string } };
      const unanswered = cause?.code === 'UND_ERR_SOCKET' && !this.#request.signal.aborted;
      if (!unanswered || typeof init?.body !== 'string') throw thrown;
      return globalThis.fetch(url, init);
    }
  }

  shorten(idleTimeoutMs: number): void {
    this.#idleTimeoutMs = Math.min(this.#idleTimeoutMs, idleTimeoutMs);
  }

  /**
   * The work's result, or a rejection as soon as the caller gives up or nothing came for too long.
   */
  async until<T>(work: () => Promise<T>): Promise<T> {
    if (this.#verdict) throw this.#verdict;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#interrupt = reject;
        this.#arm();
        work().then(resolve, reject);
      });
    } finally {
      this.#interrupt = undefined;
      this.#disarm?.();
      this.#disarm = undefined;
    }
  }

  close(): void {
    this.#caller.removeEventListener('abort', this.#giveUp);
    this.#request.abort(OVER);
  }

  #touch(): void {
    if (this.#interrupt) this.#arm();
  }

  #arm(): void {
    this.#disarm?.();
    const idleTimeoutMs = this.#idleTimeoutMs;
    this.#disarm = this.#clock.after(idleTimeoutMs, () => {
      const why = `The model sent nothing for ${idleTimeoutMs} ms`;
      this.#stop(new TroupeError('DEADLINE_EXCEEDED', why));
    });
  }

  #stop(why: TroupeError): void {
    this.#verdict ??= why;
    this.#interrupt?.(this.#verdict);
    this.#request.abort();
  }
}
