/**
 * NatsPubsub: the public side of a broker over core NATS: plain bytes on plain subjects, so that
 * any NATS client can use it.
 *
 * Boundary: the creator owns the connection; `close` ends what belongs to the adapter.
 *
 * Invariants:
 *  1. Nothing is stored for later: a message sent without a connection is lost, because the client
 *     would store it without a bound.
 *  2. A subscriber never holds more messages or bytes than it declared; a message beyond that is
 *     answered at once and not stored.
 *  3. A subscription that ends is drained: messages that the server had sent are still answered.
 */
import {
  headers as newHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import type { PublicMessage, Pubsub } from './pubsub.ts';

/** A server ends a connection that sends a line (subject, reply, lengths) of over 4,096 bytes. */
const SUBJECT_CHARACTERS_MAX = 3_500;
/** Default for a server that has not reported its own limit yet. */
const PAYLOAD_BYTES_MAX = 1024 * 1024;
/** Maximum duration of a drain. */
const DRAIN_MS = 5_000;

type Handlers = Parameters<Pubsub['serve']>[2];
type Headers = Readonly<Record<string, string>>;

export class NatsPubsub implements Pubsub {
  readonly #nc: NatsConnection;
  readonly #served = new Set<() => Promise<void>>();
  #isUp = true;
  #closed = false;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
    void this.#follow();
  }

  /**
   * Lost while there is no connection.
   * @throws TroupeError INVALID_ARGUMENT for a subject or a header that cannot be sent,
   * PAYLOAD_TOO_LARGE, UNAVAILABLE when it is closed
   */
  publish(subject: string, bytes: Uint8Array, headers: Headers = {}): void {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the pub/sub connection is closed');
    checkSubject(subject, { pattern: false });
    this.#send(subject, bytes, headers);
  }

  /** `onMessage` answers its own failures: what it rejects with ends the process. */
  serve(pattern: string, queue: string, handlers: Handlers): () => Promise<void> {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the pub/sub connection is closed');
    checkSubject(pattern, { pattern: true });
    const intake = new DeliveryQueue(handlers);
    const subscription = this.#nc.subscribe(pattern, {
      queue,
      callback: (error, message) => {
        // an error is the server's refusal of the subscription: the connection reports it
        if (error === null) intake.take(this.#read(message));
      },
    });
    let ended: Promise<void> | undefined;
    const end = () => (ended ??= this.#end(subscription, intake).finally(() => forget()));
    const forget = () => this.#served.delete(end);
    this.#served.add(end);
    return end;
  }

  /** Resolves when everything that was taken is answered, after 5 s at the latest. */
  async close(): Promise<void> {
    await Promise.all([...this.#served].map((end) => end()));
    this.#closed = true;
  }

  async #end(subscription: Subscription, intake: DeliveryQueue): Promise<void> {
    const drained = this.#nc.isClosed() ? Promise.resolve() : subscription.drain();
    const emptied = drained.catch(() => {}).then(() => intake.empty());
    await inTime(systemClock, emptied, DRAIN_MS, () => {});
  }

  #read(message: Msg): PublicMessage {
    const { subject, data, headers, reply } = message;
    return {
      subject,
      bytes: data,
      headers: fieldsOf(headers),
      ...(reply
        ? { replyTo: reply, respond: (bytes, fields = {}) => this.#send(reply, bytes, fields) }
        : {}),
    };
  }

  #send(subject: string, bytes: Uint8Array, fields: Headers): void {
    if (!this.#isUp || this.#nc.isClosed()) return;
    const headers = headersOf(fields);
    const size = bytes.length + sizeOf(fields);
    const sizeMax = this.#nc.info?.max_payload ?? PAYLOAD_BYTES_MAX;
    if (size > sizeMax)
      throw new TroupeError(
        'PAYLOAD_TOO_LARGE',
        `${size} bytes do not fit into one message of this NATS server: its limit is ${sizeMax}`,
      );
    this.#nc.publish(subject, bytes, headers ? { headers } : {});
  }

  /** Ends with the connection. */
  async #follow(): Promise<void> {
    for await (const { type } of this.#nc.status()) {
      if (type === 'reconnect') this.#isUp = true;
      else if (type === 'disconnect' || type === 'close') this.#isUp = false;
    }
  }
}

/** The messages that one subscriber is processing. */
class DeliveryQueue {
  readonly #handlers: Handlers;
  #messages = 0;
  #bytes = 0;
  #onEmpty: (() => void)[] = [];

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  take(message: PublicMessage): void {
    const { onMessage, onOverflow, outstanding } = this.#handlers;
    const bytes = message.bytes.length;
    const fits = this.#messages < outstanding.messages && this.#bytes + bytes <= outstanding.bytes;
    if (!fits) return onOverflow(message);
    this.#messages++;
    this.#bytes += bytes;
    void onMessage(message).finally(() => this.#release(bytes));
  }

  #release(bytes: number): void {
    this.#messages--;
    this.#bytes -= bytes;
    if (this.#messages > 0) return;
    for (const tell of this.#onEmpty.splice(0)) tell();
  }

  empty(): Promise<void> {
    if (this.#messages === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}

function fieldsOf(headers: MsgHdrs | undefined): Headers {
  const fields: Record<string, string> = {};
  if (headers === undefined) return fields;
  for (const name of headers.keys()) fields[name.toLowerCase()] ??= headers.values(name)[0] ?? '';
  return fields;
}

function headersOf(fields: Headers): MsgHdrs | undefined {
  const names = Object.keys(fields);
  if (names.length === 0) return undefined;
  const headers = newHeaders();
  try {
    for (const name of names) headers.set(name, fields[name]!);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'a header cannot be sent over NATS', { cause });
  }
  return headers;
}

/** `NATS/1.0`, one line each, an empty line: a server counts headers as payload. */
const sizeOf = (fields: Headers): number => {
  const names = Object.keys(fields);
  if (names.length === 0) return 0;
  return names.reduce((sum, name) => sum + Buffer.byteLength(name + fields[name]!) + 4, 12);
};

const TOKEN = /^[!-~]+$/;

function checkSubject(subject: string, { pattern }: { pattern: boolean }): void {
  const tokens = subject.split('.');
  const isSound = (token: string, at: number): boolean => {
    if (pattern && token === '*') return true;
    if (pattern && token === '>') return at === tokens.length - 1;
    return TOKEN.test(token) && !/[*>]/.test(token);
  };
  if (subject.length <= SUBJECT_CHARACTERS_MAX && tokens.every(isSound)) return;
  const shown = JSON.stringify(subject.slice(0, 100));
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${shown} is not a subject to which messages can be sent`,
  );
}
