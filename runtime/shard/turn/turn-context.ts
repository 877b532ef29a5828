/**
 * TurnContext: the state of one turn, and every way in which the turn can end or send something.
 * All refusals, answers, notices to senders and dead letters pass here, so no message is lost
 * silently (I9).
 */
import type { Address } from '../../../protocols/address.ts';
import { ERRORS, isErrorData, type ErrorCode, type ErrorData } from '../../../protocols/errors.ts';
import type { Message, Meta, ReplyRef } from '../../../protocols/statechart.ts';
import type { ActorDefinition } from '../../actor/define-actor.ts';
import type { Registry } from '../../actor/registry.ts';
import type { StepRequest, Cause, Live } from '../../statechart/host.ts';
import type { ActorRow } from './actor-row.ts';
import { encode } from '../../../protocols/codec.ts';
import { type Fold, type FoldPut, TABLE } from '../commit/fold.ts';
import { Draft, type Group, type Verdict } from '../commit/group.ts';
import { messageId } from '../commit/message-ids.ts';
import type { OutItem, TurnResult } from '../commit/records.ts';
import type { Limits } from '../limits.ts';
import { isTraced, turnSpan } from '../../observe/spans.ts';
import type { TurnSource } from './turn-source.ts';

/** The environment of a shard's turns: no clock and no I/O. */
export type TurnWorld = {
  readonly cell: string;
  readonly shard: number;
  readonly shards: number;
  readonly registry: Registry;
  readonly limits: Limits;
  /** receives the crashes of actors that have no other supervisor */
  readonly supervisor?: Address;
  /** whether due timers of an actor wait at present; default never */
  readonly holdsTimersOf?: (actor: Address) => boolean;
};

export type ActivatedActor = {
  readonly address: Address;
  readonly definition: ActorDefinition;
  actor: Omit<ActorRow, 'row'>;
  live: Live;
  /** requests of its initial state, until the turn that created it executes them */
  initialRequests: readonly StepRequest[];
  /** created by a turn that has not ended yet */
  unsaved: boolean;
  /** shard time of its last use */
  usedAt: number;
  /** what its stash holds, oldest first, once it was needed; see stash.ts */
  waiting?: Waiting[];
};

/** Number of a stash row, and the type of its message; none for an outcome or a timer. */
export type Waiting = { readonly n: number; readonly type: string | undefined };

/** The shard's actors in memory; see activated-actors.ts. */
export interface ActivatedActorStore {
  readonly keys: KeyStore;
  find(actor: Address): ActivatedActor | undefined;
  create(t: TurnContext, item: OutItem, definition: ActorDefinition): ActivatedActor;
  save(t: TurnContext, resident: ActivatedActor): void;
  saveLate(t: TurnContext, resident: ActivatedActor): void;
  forget(t: TurnContext, resident: ActivatedActor): void;
  drop(actor: Address): void;
  shardOf(actor: Address): number;
}

/** The idempotency keys that turns write; see keys.ts. */
export interface KeyStore {
  rowKey(to: string, action: string, key: string): string;
  look(rowKey: string, payloadHash: string): KeyState;
  remember(t: TurnContext, rowKey: string, payloadHash: string): void;
  forget(t: TurnContext, rowKey: string): void;
  done(t: TurnContext, rowKey: string, answer: Given): void;
}

export type KeyState =
  | { readonly kind: 'new' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'pending' }
  | { readonly kind: 'done'; readonly answer: Given };

/** An answer: a result or an error. */
export type Given = { readonly result?: unknown; readonly error?: ErrorData };

/** One turn in the making. */
export type TurnContext = {
  readonly world: TurnWorld;
  readonly fold: Fold;
  readonly group: Group;
  readonly residents: ActivatedActorStore;
  /** replaced when the turn is rolled back */
  draft: Draft;
  readonly turnNo: number;
  /** what it processes, as soon as that is known */
  source?: TurnSource;
};

/** In addition to the event: the effect or timer that this step settles. */
export type Settles = Pick<Cause, 'job' | 'timer'>;

/** What all turns of one owner share. */
export type ShardParts = Pick<TurnContext, 'world' | 'fold' | 'residents'>;

/** Runs one input and writes its turn into the group: the only place that does (B2). */
export function writeTurn(
  { world, fold, residents }: ShardParts,
  group: Group,
  input: string,
  run: (t: TurnContext) => Verdict,
): void {
  const { nextTurnNo: turnNo } = group;
  const t: TurnContext = { world, fold, group, residents, draft: new Draft(), turnNo };
  const begunAt = isTraced() ? performance.timeOrigin + performance.now() : undefined;
  const ended = run(t);
  if (begunAt !== undefined) traceTurn(t, ended, begunAt);
  group.finish(t.draft, { input, ...ended }, t.source);
}

/** The span of a turn whose input has a trace ends when the record counts. */
function traceTurn({ draft, source, turnNo }: TurnContext, ended: Verdict, begunAt: number): void {
  const traced = traceOf(source);
  if (traced === undefined) return;
  const { actor, result } = ended;
  const span = turnSpan({ ...traced, actor, result, turn: turnNo, begunAt });
  if (span) draft.after.push({ kind: 'span', span });
}

function traceOf(
  source: TurnSource | undefined,
): { readonly event: string; readonly traceId: string } | undefined {
  if (source?.kind === 'message' && source.item.traceId !== undefined)
    return { event: source.item.event.type, traceId: source.item.traceId };
  if (source?.kind === 'outcome' && source.intent?.traceId !== undefined)
    return { event: `${source.intent.src} ended`, traceId: source.intent.traceId };
  return undefined;
}

/** Discards what the turn has drafted, except these rows. */
export function rollBack(t: TurnContext, puts: readonly FoldPut[]): void {
  t.draft = new Draft();
  for (const put of puts) t.draft.put(...put);
}

export type Refusal = {
  readonly result: TurnResult;
  readonly code: ErrorCode;
  readonly message: string;
  readonly resident?: ActivatedActor | undefined;
  /** the message is in the dead letters already */
  readonly kept?: boolean;
};

/**
 * Does not change the actor. The sender receives an error; without a sender the message becomes a
 * dead letter.
 */
export function refuse(t: TurnContext, item: OutItem, refusal: Refusal): Verdict {
  const { result, code, message, resident, kept = false } = refusal;
  if (resident?.unsaved) t.residents.drop(resident.address);
  const error = { code, message };
  if (!tellSender(t, item, error) && !kept) deadLetter(t, item, 'REFUSED', error);
  const machine = resident?.actor.machine ?? '';
  return { actor: item.to, machine, result, why: `${code}: ${message}` };
}

/**
 * Sends the error to the asking client or the sending actor. Returns false if there is no receiver.
 * A client that used `tell` with a key does not wait: the key stores the error.
 */
export function tellSender(t: TurnContext, item: OutItem, error: ErrorData): boolean {
  if (item.reply) {
    reply(t, item.to, item.reply, { error });
    return item.reply.actor !== undefined || item.reply.inbox !== undefined;
  }
  // Refusals are not refused: two actors would exchange them without end.
  if (!item.from || item.event.type === 'refused' || item.event.type === 'reply') return false;
  const event = { type: 'refused', to: item.id, message: item.event.type, error };
  tellBack(t, item.to, item.from, event, item.hops);
  return true;
}

/** An accepted message that will not be applied: it is stored, and its sender receives an error. */
export function giveUp(t: TurnContext, item: OutItem, reason: string, error: ErrorData): void {
  deadLetter(t, item, reason, error);
  tellSender(t, item, error);
}

/**
 * Answers a request. The first answer of a keyed request is kept with its key (F3), but for a
 * refusal that may pass later, be it the host's or the machine's.
 */
export function reply(t: TurnContext, from: Address, to: ReplyRef, given: Given): void {
  if (to.actor)
    return tellBack(t, from, to.actor, { type: 'reply', to: to.id, ...given }, to.hops ?? 0);
  if (to.key) {
    if (mayPass(given)) t.residents.keys.forget(t, to.key);
    else t.residents.keys.done(t, to.key, given);
  }
  if (to.inbox)
    t.draft.after.push({
      kind: 'respond',
      inbox: to.inbox,
      id: to.id,
      ...(to.key ? { keyRow: to.key } : {}),
      ...given,
    });
}

const mayPass = ({ error }: Given): boolean => isErrorData(error) && ERRORS[error.code].retriable;

function tellBack(t: TurnContext, from: Address, to: Address, event: Message, hops: number): void {
  sendTo(t, { to, id: outId(t), event, from, hops: hops + 1 });
}

/** The id of the next message of this turn. */
export const outId = ({ world: { cell, shard }, turnNo, draft }: TurnContext): string =>
  messageId(cell, shard, turnNo, draft.out.length);

export function sendTo(t: TurnContext, item: OutItem, lane: 'data' | 'control' = 'data'): void {
  t.draft.send(t.residents.shardOf(item.to), lane, item);
}

/**
 * Keeps a message that will not be applied, with its reason (I9); without a domain in the runtime's
 * own.
 */
export function deadLetter(
  t: TurnContext,
  item: OutItem,
  reason: string,
  error: ErrorData,
  domain?: string,
): void {
  const named = domain !== undefined && enterDomain(t, domain) ? { domain } : {};
  const { id, event } = item;
  t.draft.send('dlq', 'data', {
    ...item,
    id: outId(t),
    event: { type: 'deadLetter', reason, error, at: t.group.now, id, event, ...named },
  });
}

/**
 * Maximum number of domains of one shard, which bounds rows and streams; letters of further domains
 * are stored in the runtime's own domain.
 */
const DOMAINS_MAX = 1_000;

/** A domain is found by its row, which is written with its first letter. */
function enterDomain({ fold, group, draft }: TurnContext, domain: string): boolean {
  if (fold.get(TABLE.domain, domain)) return true;
  if (fold.committed(TABLE.domain, { limit: DOMAINS_MAX }).length >= DOMAINS_MAX) return false;
  draft.put(TABLE.domain, domain, encode(group.now));
  return true;
}

export const timeOf = ({ now, aheadMs }: Group): Pick<Meta, 'now' | 'aheadMs'> =>
  aheadMs > 0 ? { now, aheadMs } : { now };

export function metaOf(t: TurnContext, item: OutItem): Meta {
  const meta: { -readonly [K in keyof Meta]: Meta[K] } = {
    id: item.id,
    ...timeOf(t.group),
    self: item.to,
  };
  if (item.from) meta.from = item.from;
  if (item.reply) meta.reply = item.reply;
  if (item.principal) meta.principal = item.principal;
  if (item.traceId) meta.traceId = item.traceId;
  return meta;
}

/** The verdict on an input for this actor. */
export const verdict = (
  { address, actor }: ActivatedActor,
  result: TurnResult,
  why?: string,
): Verdict => ({
  actor: address,
  machine: actor.machine,
  result,
  ...(why === undefined ? {} : { why }),
});
