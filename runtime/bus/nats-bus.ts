/**
 * NatsBus: the Bus over core NATS, between all processes of a cell. Subjects have the prefix
 * `bus.{env}.`; payloads are MessagePack. A payload that exceeds the server's limit is sent in
 * parts, which a header identifies (`Troupe-Part: id index count`).
 *
 * Requests use an inbox of the bus, because requests of the client end with the first message of an
 * answer. The creator owns the connection: `close` ends only what the bus created.
 */
import { randomUUID } from 'node:crypto';
import {
  createInbox,
  headers,
  type Msg,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { escapeToken } from '../../protocols/subjects.ts';
import { sendNow, sendSoon } from '../log/nats-sends.ts';
import type { Bus, BusMessage } from './bus.ts';
import { Assemblies, type Part, PARTS_BYTES_MAX, PARTS_WAIT_MS, partsOf } from './parts.ts';

const PART = 'Troupe-Part';
/** room for that header in a message */
const HEADER_BYTES = 256;
/** A server ends a connection that sends a line (subject, reply, lengths) of over 4,096 bytes. */
const SUBJECT_CHARACTERS_MAX = 3_500;
const NO_RESPONDERS = 503;
/** of one message: what a server of the smallest payloads would need */
const PARTS_MAX = 131_072;
/** Default for a server that has not reported its own limit yet. */
const PAYLOAD_BYTES_MAX = 1024 * 1024;

type Request = {
  readonly resolve: (answer: unknown) => void;
  readonly fail: (error: TroupeError) => void;
};

type Topic = {
  readonly subscription: Subscription;
  readonly handlers: Set<(message: BusMessage) => void>;
};

type Inbox = { readonly prefix: string; readonly subscription: Subscription };

export class NatsBus implements Bus {
  readonly #nc: NatsConnection;
  readonly #prefix: string;
  readonly #topics = new Map<string, Topic>();
  readonly #requests = new Map<string, Request>();
  readonly #assemblies = new Assemblies();
  readonly #sweep: NodeJS.Timeout;
  #inbox: Inbox | undefined;
  #isUp = true;
  /** the connection has said since whether it is up */
  #hasHeard = false;
  #closed = false;

  /** @param env name of the cell: a bus receives only messages of the same cell */
  constructor(nc: NatsConnection, { env }: { env: string }) {
    this.#nc = nc;
    this.#prefix = `bus.${escapeToken(env)}.`;
    this.#sweep = setInterval(() => this.#assemblies.drop(performance.now()), PARTS_WAIT_MS);
    this.#sweep.unref();
    void this.#follow();
    void this.#probe();
  }

  get connected(): boolean {
    return this.#isUp && !this.#closed && !this.#nc.isClosed();
  }

  /** Lost while there is no connection. @throws TroupeError INVALID_ARGUMENT, PAYLOAD_TOO_LARGE */
  publish(subject: string, payload: unknown): void {
    this.#assertOpen();
    checkSubject(subject);
    const bytes = encodeBounded(payload);
    if (this.#isConnected()) this.#sendSoon(this.#prefix + subject, bytes);
  }

  subscribe(pattern: string, onMessage: (message: BusMessage) => void): () => void {
    this.#assertOpen();
    checkPattern(pattern);
    const topic = this.#topics.get(pattern) ?? this.#openTopic(pattern);
    // a new handler each time, because one function may subscribe twice
    const handler = (message: BusMessage) => onMessage(message);
    topic.handlers.add(handler);
    return () => {
      topic.handlers.delete(handler);
      if (topic.handlers.size > 0 || this.#topics.get(pattern) !== topic) return;
      this.#topics.delete(pattern);
      this.#end(topic.subscription);
    };
  }

  /**
   * @throws also UNAVAILABLE as soon as the connection is lost, because it is unknown who received
   * it
   */
  async request(
    subject: string,
    payload: unknown,
    { timeoutMs }: { timeoutMs: number },
  ): Promise<unknown> {
    this.#assertOpen();
    checkSubject(subject);
    const bytes = encodeBounded(payload);
    if (!this.#isConnected()) throw unavailable('there is no connection to NATS');
    this.#inbox ??= this.#openInbox();
    const reply = `${this.#inbox.prefix}.${randomUUID()}`;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => request.fail(tooLate(subject, timeoutMs)), timeoutMs);
      const settle = (finish: () => void) => {
        clearTimeout(late);
        this.#requests.delete(reply);
        finish();
      };
      const request: Request = {
        resolve: (answer) => settle(() => resolve(answer)),
        fail: (error) => settle(() => reject(error)),
      };
      this.#requests.set(reply, request);
      this.#sendSoon(this.#prefix + subject, bytes, reply);
    });
  }

  async close(): Promise<void> {
    sendNow(this.#nc);
    this.#closed = true;
    clearInterval(this.#sweep);
    this.#failRequests(closed());
    for (const one of [...this.#topics.values(), this.#inbox]) if (one) this.#end(one.subscription);
    this.#topics.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw closed();
  }

  /** The client would keep what is sent without a connection, without a bound. */
  #isConnected(): boolean {
    return this.connected && !this.#nc.isDraining();
  }

  #sendSoon(subject: string, bytes: Uint8Array, reply?: string): void {
    sendSoon(this.#nc, () => {
      if (this.#isConnected()) guarded(() => this.#send(subject, bytes, reply));
    });
  }

  #send(subject: string, bytes: Uint8Array, reply?: string): void {
    const bytesMax = this.#nc.info?.max_payload ?? PAYLOAD_BYTES_MAX;
    const to = reply === undefined ? {} : { reply };
    if (bytes.length <= bytesMax) return this.#nc.publish(subject, bytes, to);
    for (const part of partsOf(randomUUID(), bytes, Math.max(1, bytesMax - HEADER_BYTES))) {
      const header = headers();
      header.set(PART, `${part.id} ${part.index} ${part.count}`);
      this.#nc.publish(subject, part.bytes, { ...to, headers: header });
    }
  }

  /** All handlers of a pattern share one subscription: they get a message in their order. */
  #openTopic(pattern: string): Topic {
    const handlers: Topic['handlers'] = new Set();
    const subscription = this.#listen(this.#prefix + pattern, (message, payload) => {
      const subject = message.subject.slice(this.#prefix.length);
      const respond = this.#responder(message);
      const now = [...handlers];
      // one of those before it may have ended it
      for (const handler of now)
        if (handlers.has(handler)) guarded(() => handler({ subject, payload, respond }));
    });
    const topic = { subscription, handlers };
    this.#topics.set(pattern, topic);
    return topic;
  }

  /** Whole messages of a NATS subject. */
  #listen(subject: string, onWhole: (message: Msg, payload: unknown) => void): Subscription {
    const callback = (error: Error | null, message: Msg): void => {
      // an error is the server's refusal of the subscription: the connection reports it
      if (error !== null || this.#closed) return;
      const got = this.#received(subscription.getID(), message);
      if (got !== undefined) onWhole(message, got.payload);
    };
    // What was published before is not for it.
    sendNow(this.#nc);
    const subscription = this.#nc.subscribe(subject, { callback });
    return subscription;
  }

  #end(subscription: Subscription): void {
    if (!this.#nc.isClosed()) subscription.unsubscribe();
  }

  /** Undefined before the last part, and for bytes that no bus sent. */
  #received(receiver: number, message: Msg): { payload: unknown } | undefined {
    try {
      const header = message.headers?.get(PART);
      if (message.headers?.code === NO_RESPONDERS) return { payload: undefined };
      if (!header) return { payload: decode(message.data) };
      const part = partFrom(header, message.data);
      const whole = part && this.#assemblies.add(receiver, part, performance.now());
      return whole && { payload: decode(whole) };
    } catch {
      // a foreign publisher must not end the process
      return undefined;
    }
  }

  #responder({ reply }: Msg): (payload: unknown) => void {
    let isAnswered = reply === undefined || reply === '';
    return (payload) => {
      if (isAnswered || !this.#isConnected()) return;
      isAnswered = true;
      this.#sendSoon(reply!, encodeBounded(payload));
    };
  }

  #openInbox(): Inbox {
    const prefix = createInbox();
    const subscription = this.#listen(`${prefix}.*`, (message, answer) => {
      const request = this.#requests.get(message.subject);
      if (message.headers?.code === NO_RESPONDERS)
        request?.fail(unavailable('no subscriber listens'));
      else request?.resolve(answer);
    });
    return { prefix, subscription };
  }

  #failRequests(error: TroupeError): void {
    for (const request of this.#requests.values()) request.fail(error);
  }

  /** Ends with the connection. */
  async #follow(): Promise<void> {
    for await (const { type } of this.#nc.status()) {
      if (type !== 'reconnect' && type !== 'disconnect' && type !== 'close') continue;
      this.#hasHeard = true;
      this.#isUp = type === 'reconnect';
      if (!this.#isUp) this.#failRequests(unavailable('the connection to NATS was lost'));
    }
  }

  /** A bus may be created while its connection is down; no later event would report that. */
  async #probe(): Promise<void> {
    try {
      await this.#nc.rtt();
    } catch {
      if (!this.#hasHeard) this.#isUp = false;
    }
  }
}

/**
 * An error of one handler stops neither the others nor the client's reader; it is rethrown later.
 */
const guarded = (call: () => void): void => {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
};

const partFrom = (header: string, bytes: Uint8Array): Part | undefined => {
  const [id, ...numbers] = header.split(' ');
  const [index, count] = numbers.map(Number);
  if (!id || index === undefined || count === undefined) return undefined;
  const isSound = Number.isInteger(index) && Number.isInteger(count) && index >= 0 && index < count;
  return isSound && count <= PARTS_MAX ? { id, index, count, bytes } : undefined;
};

const encodeBounded = (payload: unknown): Uint8Array => {
  const bytes = encode(payload);
  if (bytes.length <= PARTS_BYTES_MAX) return bytes;
  const why = `a message of ${bytes.length} bytes; at most ${PARTS_BYTES_MAX} can be sent`;
  throw new TroupeError('PAYLOAD_TOO_LARGE', why);
};

const SUBJECT = /^[!-~]+$/;

/** The creator of a subject must escape free text in it with `escapeToken`. */
const checkPattern = (pattern: string): void => {
  const tokens = pattern.split('.');
  const isSound = (token: string, at: number) =>
    token === '*' || (token === '>' ? at === tokens.length - 1 : /^[^*>]+$/.test(token));
  if (SUBJECT.test(pattern) && pattern.length <= SUBJECT_CHARACTERS_MAX && tokens.every(isSound))
    return;
  const shown = JSON.stringify(pattern.slice(0, 100));
  throw new TroupeError('INVALID_ARGUMENT', `${shown} is not a subject of the bus`);
};

const checkSubject = (subject: string): void => {
  checkPattern(subject);
  if (!/[*>]/.test(subject)) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${subject} is a pattern: publish to a subject without wildcards`,
  );
};

const tooLate = (subject: string, timeoutMs: number): TroupeError =>
  new TroupeError(
    'DEADLINE_EXCEEDED',
    `no subscriber answered on ${subject} within ${timeoutMs} ms`,
    {
      details: { subject, timeoutMs },
    },
  );

const unavailable = (why: string): TroupeError => new TroupeError('UNAVAILABLE', why);

const closed = (): TroupeError => unavailable('the bus is closed');
