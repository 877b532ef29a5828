/**
 * The stream loop of all providers: time limits, abort, the end of a stream, errors. An adapter
 * only opens its provider's stream and interprets its events.
 *
 * Invariants (in addition to those of model.ts):
 *  1. The idle limit runs only while the loop waits for the provider, not while the consumer works.
 *  2. Every byte resets the idle limit, including keep-alive pings, which the SDKs do not report.
 *  3. Whenever the loop ends, the request is aborted and no timer or listener remains.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { Answer, MalformedEvent } from './answer.ts';
import { cutStream, type FailureContext, failureOf, ReportedError } from './failure.ts';
import type { ModelEvent, StreamOptions } from './model.ts';

export type Fetch = typeof globalThis.fetch;

/** The part of the runtime's Clock that waiting needs. */
export type CallClock = {
  /** milliseconds since the epoch */
  wallMs(): number;
  /** milliseconds of a monotonic clock */
  monotonicMs(): number;
  /** calls once after at least delayMs; returns cancel */
  after(delayMs: number, call: () => void): () => void;
};

/** One provider's protocol. */
export type Wire<Event> = {
  /** Opens the stream through `fetch`; `signal` must end it. May throw anything. */
  open(signal: AbortSignal, fetch: Fetch): Promise<AsyncIterable<Event>>;
  /** Reads one event. It must ignore unknown event types, because providers add new ones. */
  read(event: Event, answer: Answer): void;
};

/**
 * Maximum wait for the end of the body after the end event, milliseconds. Waiting keeps the
 * connection reusable, and a last chunk may contain the usage.
 */
const afterEndMs = 1_000;

/** Runs one call by the contract of model.ts. */
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
      readEvent(wire, next.value, answer);
      yield* answer.take();
      if (answer.ended) wait.shorten(afterEndMs);
    }
  } catch (thrown) {
    // the answer is complete after its end event; later errors are ignored
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
 * Treats an error thrown by `read` as a malformed event, unless the event itself reported an error.
 */
const readEvent = <Event>(wire: Wire<Event>, event: Event, answer: Answer): void => {
  try {
    wire.read(event, answer);
  } catch (thrown) {
    if (thrown instanceof ReportedError || thrown instanceof MalformedEvent) throw thrown;
    throw new MalformedEvent(thrown instanceof Error ? thrown.message : String(thrown));
  }
};

/** Abort reason of ended requests. Shared, because creating one captures a stack trace. */
const OVER = new DOMException('the stream is over', 'AbortError');

/** Waits for a provider until the idle limit or the caller's abort. */
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

  /** Why this side stopped waiting; undefined when it did not. */
  get verdict(): TroupeError | undefined {
    return this.#verdict;
  }

  /** Headers of the last response. */
  get headers(): Headers | undefined {
    return this.#headers;
  }

  /** Global fetch; every received byte of the body resets the idle limit. */
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
    return new Response(
      response.body.pipeThrough(seen, { signal: this.#request.signal }),
      response,
    );
  };

  /**
   * The server may close a pooled connection while a request is sent on it. Then there is no
   * response, and the request is sent once more; model calls may be repeated.
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

  /** The result of the work; rejects when the caller aborts or the idle limit expires. */
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
