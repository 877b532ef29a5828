/**
 * Sends messages from outside the actors into mailboxes, and matches the replies (rule F).
 *
 * A message is accepted once it is durably appended to the mailbox. A refused message was not
 * accepted and left no trace. Every accepted message is answered by a turn.
 */
import { hash, randomUUID } from 'node:crypto';
import { type Address, parseAddress, shardOf } from '../protocols/address.ts';
import { encode } from '../protocols/codec.ts';
import { type ErrorCode, type ErrorData, TroupeError, errorData } from '../protocols/errors.ts';
import type { Lane, Message } from '../protocols/statechart.ts';
import { mailboxSubject } from '../protocols/subjects.ts';
import type { Registry } from './actor/registry.ts';
import type { Bus } from './bus/bus.ts';
import type { Clock } from './clock/clock.ts';
import { Admission, type Floors } from './fairness/admission.ts';
import type { TenantWeights } from './fairness/fair-queue.ts';
import { AppendUnknown, type Log, type Position } from './log/log.ts';
import type { ClientAnswer } from './shard/commit/after-commit.ts';
import {
  checkLane,
  checkMessage,
  checkPrincipal,
  checkTtl,
} from './shard/turn/validate-message.ts';
import { checkClientKey } from './shard/turn/keys.ts';
import { roughBytes } from './shard/limits.ts';
import type { WriteFormat } from './shard/commit/record-format.ts';
import { type MailEntry, type OutItem, type Outcome, encodeMail } from './shard/commit/records.ts';
import type { AskAnswer, SendOptions, ShardStatus, TellAnswer } from './system.ts';

/** A message from outside is at most this many encoded bytes. */
export const MESSAGE_BYTES_MAX = 4 * 2 ** 20;
const TTL_MS = 300_000;
/** A copy of a keyed message that arrives later than this is not applied (F4). */
const COPY_LIFE_MS = 3_600_000;
/** Pauses between the copies of an ask that is not answered. */
const RESEND_MS = { first: 2_000, max: 16_000 };
/** If a new owner has not replied within this time, the reply was lost with the previous owner. */
const RESEND_AFTER_TAKEOVER_MS = 100;
const APPEND_BACKOFF_MS = { first: 50, max: 2_000, attempts: 8 };

export type MessageClientOptions = {
  readonly log: Log;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly env: string;
  readonly shards: number;
  readonly cell: string;
  readonly worker: string;
  readonly registry: Registry;
  readonly format: WriteFormat;
  /** the status of a shard, wherever it is owned */
  readonly statusOf: (shard: number) => ShardStatus | undefined;
  /** resolves when readers here see a record; undefined where they always do */
  readonly seen?: (shard: number, position: Position) => Promise<void> | undefined;
  /**
   * true if an answer may be lost with the process that computes it: a keyed or repeatable request
   * is then sent again until it is answered, which applies nothing twice (F3, F7). Default false
   */
  readonly asksAgain?: boolean;
  /** makes the ids of messages; default random UUIDs */
  readonly newId?: (() => string) | undefined;
  /** shares of tenants against each other; default 1 each */
  readonly tenantWeights?: TenantWeights | undefined;
};

type PendingAsk = {
  readonly resolve: (answer: AskAnswer) => void;
  readonly cancel: () => void;
  /** set for an ask that may be sent again */
  repeat?: Repeat;
};

type Repeat = {
  readonly shard: number;
  /** of the shard's owner when the last copy was sent */
  epoch: number;
  readonly send: () => Promise<TellAnswer>;
};

export class MessageClient {
  readonly #o: MessageClientOptions;
  readonly #inbox: string;
  readonly #pending = new Map<string, PendingAsk>();
  readonly #unsubscribe: () => void;
  readonly #admission: Admission;
  #closed = false;

  constructor(options: MessageClientOptions) {
    this.#o = options;
    this.#inbox = `inbox.${options.worker}`;
    this.#admission = new Admission({
      clock: options.clock,
      tenantWeights: options.tenantWeights,
      isOwned: (shard) => options.statusOf(shard)?.state === 'owned',
    });
    this.#unsubscribe = options.bus.subscribe(this.#inbox, ({ payload }) =>
      this.#answered(payload as ClientAnswer),
    );
  }

  tell(to: Address, event: Message, options: SendOptions): Promise<TellAnswer> {
    return this.#send(to, event, options, this.#newId());
  }

  async ask(
    to: Address,
    event: Message,
    options: SendOptions & { timeoutMs: number },
  ): Promise<AskAnswer> {
    if (!(options?.timeoutMs >= 0)) return { kind: 'refused', error: noTimeout(options) };
    const id = this.#newId();
    const answered = new Promise<AskAnswer>((resolve) => {
      const timeout = () => this.#settle(id, { kind: 'timeout' });
      this.#pending.set(id, { resolve, cancel: this.#o.clock.after(options.timeoutMs, timeout) });
    });
    const send = () => this.#send(to, event, options, id, { id, inbox: this.#inbox });
    const repeats = this.#o.asksAgain && mayRepeat(options);
    const epoch = repeats ? (this.#o.statusOf(shardOf(to, this.#o.shards))?.epoch ?? 0) : 0;
    const sent = await send();
    const pending = this.#pending.get(id);
    if (sent.kind === 'refused') this.#settle(id, sent);
    else if (pending && repeats) {
      pending.repeat = { shard: shardOf(to, this.#o.shards), epoch, send };
      this.#resendLater(id, RESEND_MS.first);
      this.#resendToNewOwner(id, pending.repeat);
    }
    return answered;
  }

  #newId(): string {
    return this.#o.newId?.() ?? randomUUID();
  }

  /**
   * Some shards have a new owner. The previous one may have applied an ask and died before its
   * reply was received, so asks to these shards are sent again unless the new owner replies soon.
   */
  ownersChanged(): void {
    for (const [id, { repeat }] of this.#pending) if (repeat) this.#resendToNewOwner(id, repeat);
  }

  /** This process was disconnected: every ask that may be sent again is sent again. */
  repliesMayBeLost(): void {
    for (const [id, { repeat }] of this.#pending) if (repeat) this.#resendSoon(id, repeat);
  }

  #resendToNewOwner(id: string, repeat: Repeat): void {
    const status = this.#o.statusOf(repeat.shard);
    if (status?.state !== 'owned' || status.epoch <= repeat.epoch) return;
    repeat.epoch = status.epoch;
    this.#resendSoon(id, repeat);
  }

  #resendSoon(id: string, { send }: Repeat): void {
    this.#o.clock.after(RESEND_AFTER_TAKEOVER_MS, () => {
      if (this.#pending.has(id)) void send();
    });
  }

  #resendLater(id: string, afterMs: number): void {
    this.#o.clock.after(afterMs, () => {
      const send = this.#pending.get(id)?.repeat?.send;
      const nextMs = Math.min(afterMs * 2, RESEND_MS.max);
      if (send) void send().then(() => this.#resendLater(id, nextMs));
    });
  }

  /**
   * Appends an effect's outcome to its actor's mailbox. Rejects when it is not known to be stored.
   */
  async report(actor: Address, intent: string, attempt: number, outcome: Outcome): Promise<void> {
    const { cell, env, shards, log } = this.#o;
    const shard = shardOf(actor, shards);
    await log.append(
      mailboxSubject(env, shard, 'data'),
      encodeMail({ kind: 'outcome', cell, intent, attempt, outcome }, this.#o.format.writes),
    );
  }

  /** The progress of the owner of a shard, as far as it is known. */
  floors(shard: number, floors: Floors): void {
    this.#admission.floors(shard, floors);
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#admission.close();
    for (const id of this.#pending.keys()) this.#settle(id, { kind: 'timeout' });
  }

  async #send(
    to: Address,
    event: Message,
    options: SendOptions,
    id: string,
    reply?: OutItem['reply'],
  ): Promise<TellAnswer> {
    try {
      checkPrincipal(options?.principal);
      const { shard, payloadHash } = this.#check(to, event, options);
      const status = this.#statusFor(shard);
      const item: OutItem = {
        to,
        id,
        event,
        hops: 0,
        principal: options.principal,
        ...(reply ? { reply } : {}),
        ...(options.traceId ? { traceId: options.traceId } : {}),
      };
      const notAfter = this.#logTimeMs(status) + COPY_LIFE_MS;
      const entry: MailEntry = {
        kind: 'client',
        cell: this.#o.cell,
        item,
        payloadHash,
        notAfter,
        ttlMs: options.ttlMs ?? TTL_MS,
        ...(options.key === undefined ? {} : { key: options.key }),
      };
      const { lane = 'data', ttlMs } = options;
      const bytes = encodeMail(entry, this.#o.format.writes);
      const request = { shard, to, lane, bytes: bytes.length, ttlMs };
      const ticket = await this.#admission.admit(request);
      try {
        ticket.appended(await this.#append(shard, lane, bytes, mayRepeat(options)));
      } finally {
        ticket.failed();
      }
      return { kind: 'accepted', id };
    } catch (error) {
      return { kind: 'refused', error: errorData(error) };
    }
  }

  /**
   * F1: an unknown append is repeated only if a repeat can be recognized: by the key, or by the
   * receiver. Otherwise the message could be applied twice.
   */
  async #append(shard: number, lane: Lane, bytes: Uint8Array, again: boolean): Promise<Position> {
    const { log, env, clock } = this.#o;
    const subject = mailboxSubject(env, shard, lane);
    let unsure = false;
    for (
      let attempt = 1, backoffMs = APPEND_BACKOFF_MS.first;
      ;
      attempt++, backoffMs = Math.min(backoffMs * 2, APPEND_BACKOFF_MS.max)
    ) {
      try {
        const answer = await log.append(subject, bytes);
        return answer.kind === 'stored' ? answer.position : answer.last;
      } catch (error) {
        // An earlier copy may have been stored, even if a later attempt fails.
        unsure ||= error instanceof AppendUnknown;
        if (!unsure) throw error;
        if (!again || attempt >= APPEND_BACKOFF_MS.attempts) {
          throw new TroupeError(
            'UNAVAILABLE',
            'it is unknown whether the store accepted the message: send it again with the same idempotency key',
            { cause: error, details: { outcome: 'unknown' } },
          );
        }
        await new Promise<void>((resolve) => clock.after(backoffMs, resolve));
      }
    }
  }

  #check(
    to: Address,
    event: Message,
    { key, ttlMs, lane }: SendOptions,
  ): { shard: number; payloadHash: string } {
    if (this.#closed)
      throw new TroupeError('UNAVAILABLE', 'the system is stopping and accepts no new messages');
    const { type } = parseAddress(to);
    if (!this.#o.registry.latest(type)) {
      const known = [...new Set(this.#o.registry.all().map((d) => d.type))].join(', ');
      throw new TroupeError(
        'NOT_FOUND',
        `no actor type '${type}' is registered; registered types: ${known}`,
      );
    }
    checkMessage(event);
    if ('meta' in event)
      throw refusal('INVALID_ARGUMENT', "the field 'meta' of an event is reserved for the host");
    checkTtl(ttlMs);
    checkLane(lane);
    if (key !== undefined) checkClientKey(key);
    const payloadHash = key === undefined ? '' : hashOf(checkSize(encode(event)));
    // An upper bound of the encoded size: a small value needs no exact measurement.
    if (key === undefined && roughBytes(event) > MESSAGE_BYTES_MAX) checkSize(encode(event));
    return { shard: shardOf(to, this.#o.shards), payloadHash };
  }

  /**
   * The log's time, as the owner of the shard knows it. This process's wall clock is used only if
   * no better source exists (H1, I6).
   */
  #logTimeMs({ now: known = 0, clockAheadMs = 0 }: Partial<ShardStatus> = {}): number {
    const { clock, log } = this.#o;
    if (log.atomic || known === 0) return Math.max(clock.wallMs(), known);
    return known - clockAheadMs;
  }

  /** @throws TroupeError UNAVAILABLE when the shard accepts nothing */
  #statusFor(shard: number): ShardStatus | undefined {
    const status = this.#o.statusOf(shard);
    if (status?.state === 'quarantined')
      throw refusal('UNAVAILABLE', `shard ${shard} is quarantined: ${status.why}`);
    if (status?.state === 'owned' && status.why)
      throw new TroupeError('UNAVAILABLE', `the store accepts nothing at present: ${status.why}`, {
        retryAfterMs: 5_000,
      });
    return status;
  }

  /** A caller reads its own write afterwards, also where reads lag behind. */
  #answered({ id, error, result, at }: ClientAnswer): void {
    if (!this.#pending.has(id)) return;
    const settle = () =>
      this.#settle(id, error ? { kind: 'refused', error } : { kind: 'answered', result });
    const seen = this.#o.seen?.(...at);
    if (!seen) return settle();
    void seen.then(settle);
  }

  #settle(id: string, answer: AskAnswer): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.cancel();
    pending.resolve(answer);
  }
}

/** Whether a second copy of the message is recognized as a repeat. */
const mayRepeat = ({ key, repeatable }: SendOptions): boolean => key !== undefined || !!repeatable;

const hashOf = (bytes: Uint8Array): string => hash('sha256', bytes, 'base64url');

/** Of a program in JavaScript: without a time, an ask would end before its answer. */
const noTimeout = (options: { timeoutMs: number } | undefined): ErrorData =>
  refusal(
    'INVALID_ARGUMENT',
    `timeoutMs is ${options?.timeoutMs}, it must be a number of milliseconds`,
  ).toData();

/** @throws TroupeError PAYLOAD_TOO_LARGE */
function checkSize(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MESSAGE_BYTES_MAX) return bytes;
  throw refusal(
    'PAYLOAD_TOO_LARGE',
    `the message has ${bytes.length} bytes, ${MESSAGE_BYTES_MAX} are allowed`,
  );
}

const refusal = (code: ErrorCode, message: string) => new TroupeError(code, message);
