/**
 * NatsAppends: publishes and waits for answers, in an inbox of its own: the client's requests cost
 * an Error, a timer and several promises each. Many appends are in flight on one connection, and
 * none waits for another; the window only keeps a burst out of the connection's buffer, where its
 * time limit would expire before it is sent.
 *
 * Invariants:
 *  - messages are published in the order of the calls, each at most once: the caller repeats,
 *    because it knows whether its expectation makes a second copy impossible (C3);
 *  - no broker message id: its window answers for copies that were never stored, and differently
 *    after a fail-over;
 *  - an append ends with the connection, as unknown: it may still be stored (P1).
 */
import { JetStreamApiError } from '@nats-io/jetstream';
import {
  createInbox,
  errors,
  headers as newHeaders,
  type Msg,
  type MsgHdrs,
  type Subscription,
} from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { type AppendAnswer, AppendUnknown, type Position } from './log.ts';
import { appendFailure } from './nats-errors.ts';
import { LinkDown, type NatsLink, type Refusal } from './nats-link.ts';
import { sendSoon } from './nats-sends.ts';

export type Publish = {
  readonly stream: string;
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly expectedLast: Position | undefined;
  readonly headers: MsgHdrs | undefined;
};

/** More appends in flight only wait longer and raise no throughput (measured: 64 to 256). */
const IN_FLIGHT_MAX = 256;
const IN_FLIGHT_BYTES_MAX = 16 * 2 ** 20;
const NO_RESPONDERS = 503;
const EXPECTED_STREAM = 'Nats-Expected-Stream';
const EXPECTED_LAST = 'Nats-Expected-Last-Subject-Sequence';

type Append = {
  readonly publish: Publish;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: Error) => void;
  /** by performance.now(); 0 before it is sent */
  lateAtMs: number;
};

export class NatsAppends {
  readonly #link: NatsLink;
  readonly #timeoutMs: number;
  readonly #inbox = createInbox();
  #answers: Subscription | undefined;
  /** not sent yet, oldest first from `#at` */
  #queue: Append[] = [];
  #at = 0;
  #isSending = false;
  /** by the last token of their inbox, oldest first */
  readonly #inFlight = new Map<string, Append>();
  #inFlightBytes = 0;
  /** of messages without expectation, by stream */
  readonly #plainHeaders = new Map<string, MsgHdrs>();
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor(link: NatsLink, timeoutMs: number) {
    this.#link = link;
    this.#timeoutMs = timeoutMs;
    link.watch((up) => {
      if (!up) this.#lost();
    });
    link.watchRefusals((error) => this.#forbidden(error));
  }

  /**
   * @throws AppendUnknown, or TroupeError UNAVAILABLE when it was not stored and never will be: the
   * connection was down before it was sent, or the server said so
   */
  append(publish: Publish): Promise<AppendAnswer> {
    return new Promise((resolve, reject) => {
      if (!this.#link.up) return reject(notSent());
      this.#queue.push({ publish, resolve, reject, lateAtMs: 0 });
      this.#sendSoon();
    });
  }

  /** Resolves when every append so far is answered or given up. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** After `idle`. */
  close(): void {
    clearTimeout(this.#timer);
    if (this.#answers && !this.#link.nc.isClosed()) this.#answers.unsubscribe();
  }

  get #isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#at === this.#queue.length;
  }

  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    sendSoon(this.#link.nc, () => {
      this.#isSending = false;
      this.#send();
    });
  }

  #send(): void {
    for (let next = this.#queue[this.#at]; next; next = this.#queue[this.#at]) {
      const { length } = next.publish.bytes;
      const isFull = this.#inFlightBytes + length > IN_FLIGHT_BYTES_MAX && this.#inFlight.size > 0;
      if (isFull || this.#inFlight.size >= IN_FLIGHT_MAX) return;
      this.#at += 1;
      this.#publish(next);
    }
    this.#queue = [];
    this.#at = 0;
  }

  #publish(append: Append): void {
    const { nc } = this.#link;
    const { subject, bytes } = append.publish;
    if (!this.#link.up) return append.reject(notSent());
    const name = String(++this.#sent);
    append.lateAtMs = performance.now() + this.#timeoutMs;
    this.#inFlight.set(name, append);
    this.#inFlightBytes += bytes.length;
    try {
      this.#answers ??= nc.subscribe(`${this.#inbox}.*`, {
        callback: (error, message) => {
          if (error === null) this.#answered(message);
          // The server has ended it; what is in flight may be stored.
          else this.#answers = undefined;
        },
      });
      const reply = `${this.#inbox}.${name}`;
      nc.publish(subject, bytes, { reply, headers: this.#headersOf(append.publish) });
      this.#timer ??= this.#wait(this.#timeoutMs);
    } catch (error) {
      this.#fail(name, error);
    }
  }

  #headersOf({ stream, expectedLast, headers }: Publish): MsgHdrs {
    const plain = headers === undefined && expectedLast === undefined;
    const known = plain ? this.#plainHeaders.get(stream) : undefined;
    if (known) return known;
    const made = headers ?? newHeaders();
    made.set(EXPECTED_STREAM, stream);
    if (expectedLast !== undefined) made.set(EXPECTED_LAST, String(expectedLast));
    if (plain) this.#plainHeaders.set(stream, made);
    return made;
  }

  #answered(message: Msg): void {
    const name = message.subject.slice(this.#inbox.length + 1);
    const append = this.#inFlight.get(name);
    if (!append) return;
    const { stream, subject } = append.publish;
    if (message.headers?.code === NO_RESPONDERS)
      return this.#fail(name, new errors.NoRespondersError(subject));
    try {
      const { error, seq = 0, ...answer } = message.json<PublishAnswer>();
      if (error) return this.#fail(name, new JetStreamApiError(error));
      if (seq <= 0 || answer.stream !== stream || answer.duplicate)
        return this.#fail(name, new Error('an answer that says nothing'));
      this.#left(name, append);
      append.resolve({ kind: 'stored', position: seq });
    } catch (cause) {
      this.#fail(name, cause);
    }
  }

  /** What an error says of an append that was sent. */
  #fail(name: string, cause: unknown): void {
    const append = this.#inFlight.get(name);
    if (!append) return;
    this.#left(name, append);
    const { stream, subject } = append.publish;
    const failure =
      cause instanceof LinkDown
        ? new AppendUnknown(subject, { cause })
        : appendFailure(stream, subject, cause);
    if (failure instanceof Error) append.reject(failure);
    else append.resolve(failure);
  }

  #left(name: string, { publish }: Append): void {
    this.#inFlight.delete(name);
    this.#inFlightBytes -= publish.bytes.length;
    if (this.#at < this.#queue.length) this.#sendSoon();
    if (this.#isIdle) this.#isNowIdle();
  }

  #isNowIdle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#onIdle;
    this.#onIdle = [];
    for (const resolve of waiting) resolve();
  }

  /** One timer for all: it waits for the oldest. */
  #wait(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined;
      const now = performance.now();
      for (const [name, { lateAtMs }] of this.#inFlight) {
        if (lateAtMs > now) {
          this.#timer = this.#wait(lateAtMs - now);
          return;
        }
        this.#fail(name, new errors.TimeoutError());
      }
    }, delayMs).unref();
  }

  #lost(): void {
    const queued = this.#queue.slice(this.#at);
    this.#queue = [];
    this.#at = 0;
    for (const { reject } of queued) reject(notSent());
    for (const name of this.#inFlight.keys()) this.#fail(name, new LinkDown());
    if (this.#isIdle) this.#isNowIdle();
  }

  /** The server names the subject, not the message: it refuses every one. */
  #forbidden(error: Refusal): void {
    for (const [name, { publish }] of this.#inFlight)
      if (publish.subject === error.subject) this.#fail(name, error);
  }
}

/** What the server says of a message that it stored, or why it did not. */
type PublishAnswer = {
  readonly stream?: string;
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: ConstructorParameters<typeof JetStreamApiError>[0];
};

const notSent = (): TroupeError =>
  new TroupeError('UNAVAILABLE', 'the connection to NATS is down; nothing was sent');
