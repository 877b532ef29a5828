/**
 * NatsRequests: requests to the API of JetStream in an inbox of their own. The client's own request
 * costs three promises, a timer, an Error with its stack and a write to the socket; taking over a
 * shard makes a dozen of them. Here the requests of one turn of the event loop go in one write, and
 * one timer watches all.
 *
 * Boundary: it repeats nothing. A request ends with the connection, and its outcome is unknown
 * then.
 */
import {
  createInbox,
  errors,
  type Msg,
  type NatsConnection,
  type RequestOptions,
  type Subscription,
} from '@nats-io/transport-node';
import { LinkDown, type NatsLink, type Refusal } from './nats-link.ts';
import { sendSoon } from './nats-sends.ts';

type Pending = {
  readonly subject: string;
  readonly resolve: (answer: Msg) => void;
  readonly reject: (error: Error) => void;
  /** by performance.now() */
  readonly lateAtMs: number;
};

const TIMEOUT_MS_DEFAULT = 2_000;
/** How much later than its time limit a request may end. */
const CHECK_MS = 250;
const NO_RESPONDERS = 503;

export class NatsRequests {
  readonly #link: NatsLink;
  readonly #inbox = createInbox();
  /** by the last token of their inbox */
  readonly #pending = new Map<string, Pending>();
  #answers: Subscription | undefined;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(link: NatsLink) {
    this.#link = link;
    link.watch((up) => {
      if (!up) for (const name of this.#pending.keys()) this.#fail(name, new LinkDown());
    });
    link.watchRefusals((refusal) => this.#forbidden(refusal));
  }

  /** The connection with this way to make requests, for the client library. */
  get connection(): NatsConnection {
    const request: NatsConnection['request'] = (subject, payload, options) =>
      this.request(subject, payload, options);
    return Object.create(this.#link.nc, { request: { value: request } }) as NatsConnection;
  }

  /** @throws LinkDown, NoRespondersError, TimeoutError, PermissionViolationError */
  request(
    subject: string,
    payload?: Parameters<NatsConnection['request']>[1],
    { timeout: timeoutMs = TIMEOUT_MS_DEFAULT, headers }: Partial<RequestOptions> = {},
  ): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const name = String(++this.#sent);
      const lateAtMs = performance.now() + timeoutMs;
      this.#pending.set(name, { subject, resolve, reject, lateAtMs });
      sendSoon(this.#link.nc, () => {
        if (!this.#link.up) return this.#fail(name, new LinkDown());
        try {
          this.#listen();
          const reply = `${this.#inbox}.${name}`;
          this.#link.nc.publish(subject, payload, { reply, ...(headers && { headers }) });
        } catch (error) {
          this.#fail(name, error as Error);
        }
      });
    });
  }

  /** What is on its way is still answered. */
  close(): void {
    this.#closed = true;
    if (this.#pending.size === 0) this.#stopListening();
  }

  #listen(): void {
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    this.#answers ??= this.#link.nc.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
        else this.#deaf(error);
      },
    });
  }

  /** The server ended the subscription, for the rights of the user: the next request makes it. */
  #deaf(error: Error): void {
    this.#answers = undefined;
    for (const name of this.#pending.keys()) this.#fail(name, error);
  }

  #stopListening(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#answers && !this.#link.nc.isClosed()) this.#answers.unsubscribe();
    this.#answers = undefined;
  }

  #answered(message: Msg): void {
    const name = message.subject.slice(this.#inbox.length + 1);
    const pending = this.#pending.get(name);
    if (!pending) return;
    if (message.data.length === 0 && message.headers?.code === NO_RESPONDERS)
      return this.#fail(name, new errors.NoRespondersError(pending.subject));
    this.#left(name);
    pending.resolve(message);
  }

  #fail(name: string, error: Error): void {
    const pending = this.#pending.get(name);
    this.#left(name);
    pending?.reject(error);
  }

  #left(name: string): void {
    this.#pending.delete(name);
    if (this.#closed && this.#pending.size === 0) this.#stopListening();
  }

  #check(): void {
    const now = performance.now();
    for (const [name, { lateAtMs }] of this.#pending)
      if (lateAtMs <= now) this.#fail(name, new errors.TimeoutError());
    if (this.#pending.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The server names the subject, not the message: it refuses every one. */
  #forbidden(refusal: Refusal): void {
    for (const [name, { subject }] of this.#pending)
      if (subject === refusal.subject) this.#fail(name, refusal);
  }
}
