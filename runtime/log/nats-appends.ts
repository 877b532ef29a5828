/**
 * NatsAppends: publishes and waits for answers. Many appends are in flight on one connection, and
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
import type { JetStreamClient } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { type AppendAnswer, AppendUnknown, type Position } from './log.ts';
import { appendFailure } from './nats-errors.ts';
import { LinkDown, type NatsLink } from './nats-link.ts';

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

type Job = { readonly size: number; readonly start: () => void; readonly refuse: () => void };

export class NatsAppends {
  readonly #link: NatsLink;
  readonly #stream: JetStreamClient;
  readonly #timeoutMs: number;
  /** not sent yet, oldest first from `#at` */
  #queue: Job[] = [];
  #at = 0;
  #inFlight = 0;
  #inFlightBytes = 0;
  #onIdle: (() => void)[] = [];

  constructor(link: NatsLink, stream: JetStreamClient, timeoutMs: number) {
    this.#link = link;
    this.#stream = stream;
    this.#timeoutMs = timeoutMs;
    link.watch((up) => {
      if (!up) this.#refuseQueued();
    });
  }

  /**
   * @throws AppendUnknown, or TroupeError UNAVAILABLE when it was not stored and never will be: the
   * connection was down before it was sent, or the server said so
   */
  append(publish: Publish): Promise<AppendAnswer> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(notSent());
      if (!this.#link.up) return refuse();
      const size = publish.bytes.length;
      const start = () => {
        this.#publish(publish)
          .then(resolve, reject)
          .finally(() => this.#left(size));
      };
      this.#queue.push({ size, start, refuse });
      this.#next();
    });
  }

  /** Resolves when every append so far is answered or given up. */
  idle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async #publish({
    stream,
    subject,
    bytes,
    expectedLast,
    headers,
  }: Publish): Promise<AppendAnswer> {
    try {
      const answer = await this.#link.ask(
        this.#stream.publish(subject, bytes, {
          timeout: this.#timeoutMs,
          expect: {
            streamName: stream,
            ...(expectedLast === undefined ? {} : { lastSubjectSequence: expectedLast }),
          },
          ...(headers ? { headers } : {}),
        }),
      );
      if (answer.seq > 0 && answer.stream === stream && !answer.duplicate)
        return { kind: 'stored', position: answer.seq };
      throw new AppendUnknown(subject, { cause: new Error('an answer that says nothing') });
    } catch (error) {
      if (error instanceof AppendUnknown) throw error;
      if (error instanceof LinkDown) throw new AppendUnknown(subject, { cause: error });
      const failure = appendFailure(stream, subject, error);
      if (failure instanceof Error) throw failure;
      return failure;
    }
  }

  #next(): void {
    for (let job = this.#queue[this.#at]; job; job = this.#queue[this.#at]) {
      const full = this.#inFlightBytes + job.size > IN_FLIGHT_BYTES_MAX && this.#inFlight > 0;
      if (full || this.#inFlight >= IN_FLIGHT_MAX) return;
      this.#at += 1;
      this.#inFlight += 1;
      this.#inFlightBytes += job.size;
      job.start();
    }
    this.#queue = [];
    this.#at = 0;
  }

  #left(size: number): void {
    this.#inFlight -= 1;
    this.#inFlightBytes -= size;
    this.#next();
    if (this.#inFlight > 0) return;
    const waiting = this.#onIdle;
    this.#onIdle = [];
    for (const resolve of waiting) resolve();
  }

  #refuseQueued(): void {
    const queued = this.#queue.slice(this.#at);
    this.#queue = [];
    this.#at = 0;
    for (const { refuse } of queued) refuse();
  }
}

const notSent = (): TroupeError =>
  new TroupeError('UNAVAILABLE', 'the connection to NATS is down; nothing was sent');
