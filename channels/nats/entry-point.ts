/**
 * The NATS entry point: accepts envelopes on `a2a.{domain}.{env}.in.{tenant}`. The gateways of a
 * cluster share the subscription, so one of them receives each envelope. It uses the same Edge as
 * HTTP and gives the same answers; only their form differs:
 *
 *  - With a reply subject (request-reply), the reply's body is the body of the HTTP answer. Status
 *    and headers are headers of the reply: `status`, `x-ratelimit-limit`, `x-ratelimit-remaining`,
 *    `retry-after`.
 *  - Without a reply subject (fire and forget), a refusal is published as the event `a2a.refused`
 *    on `a2a.{domain}.{env}.out.{tenant}`, and an accepted task publishes its events there. For a
 *    task that had already ended, its last event is published again.
 *
 * Replies go only to subjects that the caller could write to: an inbox of its tenant
 * (`_INBOX.{tenant}.`) or a random inbox of a client (`_INBOX.{22 letters and digits}`). The NATS
 * server does not check the reply subject of a request, and this process may write everywhere,
 * journals included.
 *
 * A reply is sent when the task is durable, never before. Requests beyond `outstanding` are refused
 * at once.
 */
import { ERRORS, type ErrorData, errorData, TroupeError } from '../../protocols/errors.ts';
import { refusedEvent } from '../../protocols/refused-event.ts';
import { escapeToken, parseSubject } from '../../protocols/subjects.ts';
import { isFinal } from '../../protocols/task.ts';
import type { PublicMessage, Pubsub } from '../../runtime/index.ts';
import type { Edge, EdgeAnswer } from '../edge/edge.ts';
import { type BearerGuesses, tooManyGuesses } from '../gateway/auth/bearer-guesses.ts';
import { rateHeaders, respondsAsync } from '../http/envelopes.ts';
import { errorHeaders, refusalOf } from '../http/route.ts';
import { EventRelay, type EventRelayOptions } from './event-relay.ts';

export type NatsEntryPointOptions = Omit<EventRelayOptions, 'pubsub'> & {
  readonly edge: Pick<Edge, 'submit'>;
  readonly pubsub: Pick<Pubsub, 'serve' | 'publish'>;
  /** limit of envelopes without an answer, and of their bytes */
  readonly outstanding: { readonly messages: number; readonly bytes: number };
  /** delays senders that guess a secret; omitted if the identity has no secret */
  readonly guesses?: Pick<BearerGuesses, 'judge'>;
};

export type NatsEntryPoint = {
  /** Accepts no more envelopes, and answers the accepted ones. May be repeated. */
  close(): Promise<void>;
};

/** The queue group of all gateways. Cells differ in their subjects. */
const QUEUE = 'troupe-gateways';
const OVERFLOW: ErrorData = {
  code: 'RATE_LIMIT_EXCEEDED',
  message:
    'this gateway has reached its limit of concurrent envelopes (a2a.outstanding): send it again with the same idempotency_key',
  retryAfterMs: 1_000,
  details: { limit: 'outstanding' },
};

const FOREIGN_REPLY: EdgeAnswer = {
  kind: 'refused',
  error: {
    code: 'INVALID_ARGUMENT',
    message:
      'the reply subject is not an inbox of the tenant: connect with the inbox prefix _INBOX.{tenant}, or with none',
  },
};

export function startNatsEntryPoint(options: NatsEntryPointOptions): NatsEntryPoint {
  const relay = new EventRelay(options);
  const entryPoint = new EntryPoint(options, relay);
  const end = options.pubsub.serve(`a2a.*.${escapeToken(options.env)}.in.*`, QUEUE, {
    outstanding: options.outstanding,
    onMessage: (message) => entryPoint.accept(message),
    onOverflow: (message) => entryPoint.overflow(message),
  });
  let closed: Promise<void> | undefined;
  return { close: () => (closed ??= end().finally(() => relay.close())) };
}

class EntryPoint {
  readonly #o: NatsEntryPointOptions;
  readonly #relay: EventRelay;

  constructor(options: NatsEntryPointOptions, relay: EventRelay) {
    this.#o = options;
    this.#relay = relay;
  }

  /** Never rejects. */
  async accept(message: PublicMessage): Promise<void> {
    try {
      if (!isInbox(message)) return this.#publish(message.subject, FOREIGN_REPLY);
      const answer = await this.#submit(message);
      if (answer.kind === 'task') this.#relay.follow(answer.view);
      if (message.respond) this.#respond(message.respond, answer);
      else this.#publish(message.subject, answer);
    } catch (error) {
      this.#o.log.warn({ code: errorData(error).code }, 'nats: an answer could not be sent');
    }
  }

  overflow(message: PublicMessage): void {
    const answer = { kind: 'refused', error: OVERFLOW } as const;
    try {
      if (message.respond && isInbox(message)) this.#respond(message.respond, answer);
      else this.#publish(message.subject, answer);
    } catch (error) {
      this.#o.log.warn({ code: errorData(error).code }, 'nats: an answer could not be sent');
    }
  }

  async #submit({ subject, bytes, headers, respond }: PublicMessage): Promise<EdgeAnswer> {
    const isWaiting = respond !== undefined && !respondsAsync(headers['prefer']);
    const authorization = headers['authorization'];
    try {
      const place = placeOf(subject);
      const refusedMs = await this.#guessedMs(authorization, place);
      if (refusedMs > 0) return { kind: 'refused', error: tooManyGuesses(refusedMs) };
      return await this.#o.edge.submit({
        transport: 'nats',
        bytes,
        subject: place,
        authorization,
        signature: headers['x-jws-signature'],
        traceparent: headers['traceparent'],
        tracestate: headers['tracestate'],
        ...(isWaiting ? {} : { waitMs: 0 }),
      });
    } catch (error) {
      return { kind: 'refused', error: errorData(error) };
    }
  }

  /** Counts wrong secrets per tenant, because NATS does not identify the sender of a message. */
  #guessedMs(authorization: string | undefined, { tenant }: { tenant: string }) {
    const attempt = { account: `nats ${tenant}`, isOpen: () => true };
    return this.#o.guesses?.judge(authorization, attempt) ?? 0;
  }

  #respond(respond: NonNullable<PublicMessage['respond']>, answer: EdgeAnswer): void {
    try {
      send(respond, answer);
    } catch (error) {
      const { code, message } = errorData(error);
      if (code !== 'PAYLOAD_TOO_LARGE' || answer.kind !== 'task') throw error;
      const details = { task_id: answer.view.task_id, state: answer.view.state };
      const text = `the task exists, but its answer is too large for NATS: ${message}. Read it over HTTP`;
      send(respond, { kind: 'refused', error: { code, message: text, details } });
    }
  }

  #publish(subject: string, answer: EdgeAnswer): void {
    if (answer.kind === 'task') {
      if (isFinal(answer.view.state)) this.#relay.publishLast(answer.view);
      return;
    }
    const { clock, pubsub } = this.#o;
    const at = new Date(clock.wallMs()).toISOString();
    const event = refusedEvent(refusalOf(answer.error, answer), { at, rate: answer.rate });
    pubsub.publish(outSubject(subject), Buffer.from(JSON.stringify(event)));
  }
}

function send(respond: NonNullable<PublicMessage['respond']>, answer: EdgeAnswer): void {
  const { status, body, headers } = bodyAndHeaders(answer);
  respond(Buffer.from(JSON.stringify(body)), { ...headers, status: String(status) });
}

/** The answer as over HTTP, without the headers that only HTTP has. */
function bodyAndHeaders(answer: EdgeAnswer): {
  status: number;
  body: unknown;
  headers: Readonly<Record<string, string>>;
} {
  const rate = rateHeaders(answer);
  if (answer.kind === 'refused') {
    const { error } = answer;
    const headers = { ...rate, ...errorHeaders(error) };
    return { status: ERRORS[error.code].http, body: refusalOf(error, answer), headers };
  }
  const { view } = answer;
  return isFinal(view.state)
    ? { status: 200, body: view, headers: rate }
    : { status: 202, body: view, headers: { ...rate, 'retry-after': '1' } };
}

/** Whether the reply subject is allowed; true when there is none. */
function isInbox({ subject, replyTo }: PublicMessage): boolean {
  if (replyTo === undefined) return true;
  const [root, owner = '', ...rest] = replyTo.split('.');
  if (root !== '_INBOX') return false;
  return /^[0-9A-Za-z]{22}$/.test(owner) || (rest.length > 0 && subject.endsWith(`.${owner}`));
}

/** The `out` subject of an `in` subject; also works if its tokens are invalid. */
const outSubject = (subject: string): string => subject.replace(/\.in(?=\.[^.]*$)/, '.out');

/** @throws TroupeError INVALID_ARGUMENT for a subject with invalid tokens */
function placeOf(text: string): { domain: string; tenant: string } {
  const subject = parseSubject(text);
  if (subject.kind === 'entryPointIn') return subject;
  throw new TroupeError('INVALID_ARGUMENT', `${text} is not a subject for envelopes`);
}
