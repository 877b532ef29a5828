/**
 * One turn (rule B): an input and the actor's state in, the actor's next state and its asks out.
 * Pure but for the fold it reads: nothing here waits, starts or sends. Every input ends as exactly
 * one Turn with a result (I9), also when it is refused, expired, stashed or crashed.
 */
import { type Address, parseAddress } from '../../protocols/address.ts';
import { ERRORS, type ErrorCode, type ErrorData, errorData } from '../../protocols/errors.ts';
import type { Message, Meta, ReplyRef } from '../../protocols/statechart.ts';
import type { Registry } from '../actor/registry.ts';
import { type Cause, defers, isDone, step } from '../statechart/host.ts';
import { LimitExceeded, carryAsks } from './asks.ts';
import { crash, isDirective, obey } from './crash.ts';
import type { Fold } from './fold.ts';
import { Draft, type Group, type TurnFacts } from './group.ts';
import type { OutItem, TurnResult } from './records.ts';
import { type Resident, type Residents, UnfitRow } from './residents.ts';
import type { Limits } from './size.ts';
import { stashMessage } from './stash.ts';

/** What a shard's turns need to know of the world; no clock and no I/O among it. */
export type TurnWorld = {
  readonly cell: string;
  readonly shard: number;
  readonly shards: number;
  readonly registry: Registry;
  readonly limits: Limits;
  /** told of crashes of actors that have no other supervisor */
  readonly supervisor?: Address;
};

/** One turn in the making. */
export type TurnContext = {
  readonly world: TurnWorld;
  readonly fold: Fold;
  readonly group: Group;
  readonly residents: Residents;
  readonly draft: Draft;
  readonly turnNo: number;
  /** the client's idempotency key, which this turn remembers with its answer */
  key?: { readonly rowKey: string; readonly payloadHash: string };
};

/** Why a machine is stepped, beside the event: which job or timer it settles. */
export type Settles = Pick<Cause, 'job' | 'timer'>;

/** What all turns of one owner share. */
export type ShardParts = Pick<TurnContext, 'world' | 'fold' | 'residents'>;

export function beginTurn({ world, fold, residents }: ShardParts, group: Group): TurnContext {
  return { world, fold, group, residents, draft: new Draft(), turnNo: group.nextTurnNo };
}

/** Takes one message for an actor. */
export function takeMessage(t: TurnContext, item: OutItem, input: string): void {
  if (item.deadline !== undefined && item.deadline < t.group.now) {
    return refuse(
      t,
      item,
      input,
      'expired',
      'EXPIRED',
      `the message was applied after its deadline ${new Date(item.deadline).toISOString()}`,
    );
  }
  if (item.hops > t.world.limits.hopsMax) {
    return refuse(
      t,
      item,
      input,
      'refused',
      'CONFLICT',
      `the message has passed ${item.hops} actors, ${t.world.limits.hopsMax} are allowed`,
    );
  }
  const { type } = parseAddress(item.to);
  const definition = t.world.registry.latest(type);
  if (!definition) {
    return refuse(
      t,
      item,
      input,
      'refused',
      'NOT_FOUND',
      `no actor type '${type}' is registered on this worker`,
    );
  }
  let resident: Resident;
  try {
    resident = t.residents.find(item.to, t.group.now) ?? t.residents.create(t, item, definition);
  } catch (error) {
    return refuseUnborn(t, item, input, error);
  }
  if (isDirective(item.event.type)) return obey(t, resident, item, input);
  admit(t, resident, item, input);
}

/** Where an existing actor's status decides what becomes of a message. */
function admit(t: TurnContext, resident: Resident, item: OutItem, input: string): void {
  const { status, why } = resident.actor;
  if (status === 'suspended') return stashMessage(t, resident, item, input);
  if (status === 'stopped' || isDone(resident.live)) {
    return refuse(
      t,
      item,
      input,
      'refused',
      'CONFLICT',
      `${item.to} has ended and takes no more messages`,
      resident,
    );
  }
  if (status === 'quarantined') {
    deadLetter(t, item, 'QUARANTINED', why ?? { code: 'INTERNAL', message: 'quarantined' });
    return refuse(
      t,
      item,
      input,
      'refused',
      'UNAVAILABLE',
      `${item.to} is quarantined: ${why?.message ?? 'unknown reason'}; the message is in the dead letters`,
      resident,
    );
  }
  if (defers(resident.definition.machine, resident.live, item.event.type))
    return stashMessage(t, resident, item, input);
  applyMessage(t, resident, item, input);
}

/** Steps the machine with a message it may take now. */
export function applyMessage(
  t: TurnContext,
  resident: Resident,
  item: OutItem,
  input: string,
): void {
  const event = { ...item.event, meta: metaOf(t, item) };
  applyCause(t, resident, { event }, item, input);
}

/** Steps the machine; `item` is the message behind it, or absent for outcomes and timers. */
export function applyCause(
  t: TurnContext,
  resident: Resident,
  cause: Cause,
  item: OutItem | undefined,
  input: string,
): void {
  const made = step(resident.definition.machine, resident.live, cause, t.group.now);
  if (made.outcome === 'failed') return crash(t, resident, cause.event, item, made.error!, input);
  if (made.outcome === 'stale')
    return end(t, {
      input,
      actor: resident.address,
      machine: resident.actor.machine,
      result: 'dropped',
      why: 'stale',
    });
  if (made.outcome === 'ignored') return ignored(t, resident, item, made.error, input);
  try {
    resident.live = made.live;
    carryAsks(t, resident, made.asks, item);
    if (t.draft.bytes > t.world.limits.turnBytesMax)
      throw new LimitExceeded(
        'PAYLOAD_TOO_LARGE',
        `the turn writes about ${t.draft.bytes} bytes, ${t.world.limits.turnBytesMax} are allowed`,
      );
  } catch (error) {
    return undone(t, resident, cause.event, item, error, input);
  }
  if (isDone(resident.live)) finishActor(t, resident);
  else t.residents.save(t, resident);
  if (resident.actor.stashEnd > resident.actor.stashFirst)
    t.draft.after.push({ kind: 'unstash', actor: resident.address });
  end(t, { input, actor: resident.address, machine: resident.actor.machine, result: 'applied' });
}

/** A turn past a limit is refused to its sender; where nobody sent it, the actor crashes. */
function undone(
  t: TurnContext,
  resident: Resident,
  event: Message,
  item: OutItem | undefined,
  error: unknown,
  input: string,
): void {
  t.residents.drop(resident.address);
  const fresh: TurnContext = { ...t, draft: new Draft() };
  if (t.key) t.residents.keys.remember(fresh, t.key.rowKey, t.key.payloadHash);
  const before = t.residents.find(resident.address);
  if (error instanceof LimitExceeded && item)
    return refuse(fresh, item, input, 'refused', error.code, error.message, before);
  if (!before) return refuseUnborn(fresh, item!, input, error);
  crash(fresh, before, event, item, errorData(error), input);
}

function ignored(
  t: TurnContext,
  resident: Resident,
  item: OutItem | undefined,
  error: ErrorData | undefined,
  input: string,
): void {
  if (resident.bornAsks.length > 0) return born(t, resident, item, input);
  const state = JSON.stringify(resident.live.snapshot.value);
  if (item?.reply) {
    const why = error?.message ?? `in state ${state} it does not take ${item.event.type}`;
    return refuse(
      t,
      item,
      input,
      'ignored',
      error?.code ?? 'CONFLICT',
      `${resident.address}: ${why}`,
      resident,
    );
  }
  if (resident.unsaved) t.residents.drop(resident.address);
  end(t, {
    input,
    actor: resident.address,
    machine: resident.actor.machine,
    result: 'ignored',
    why: state,
  });
}

/**
 * The first message itself moved nothing, but the actor's first state asks for something: it is
 * created.
 */
function born(t: TurnContext, resident: Resident, item: OutItem | undefined, input: string): void {
  carryAsks(t, resident, [], item);
  t.residents.save(t, resident);
  end(t, { input, actor: resident.address, machine: resident.actor.machine, result: 'applied' });
}

function finishActor(t: TurnContext, resident: Resident): void {
  if (resident.definition.whenDone === 'forget') t.residents.forget(t, resident);
  else t.residents.save(t, resident);
}

/** Ends the turn without touching the actor, and tells whoever sent the message. */
export function refuse(
  t: TurnContext,
  item: OutItem,
  input: string,
  result: TurnResult,
  code: ErrorCode,
  message: string,
  resident?: Resident,
): void {
  if (resident?.unsaved) t.residents.drop(resident.address);
  if (item.reply?.key && ERRORS[code].retriable) t.residents.keys.forget(t, item.reply.key);
  answer(t, item, { error: { code, message } });
  end(t, {
    input,
    actor: item.to,
    machine: resident?.actor.machine ?? '',
    result,
    why: `${code}: ${message}`,
  });
}

function refuseUnborn(t: TurnContext, item: OutItem, input: string, error: unknown): void {
  t.residents.drop(item.to);
  const data = errorData(error);
  deadLetter(t, item, error instanceof UnfitRow ? 'UNFIT' : 'UNBORN', data);
  refuse(t, item, input, 'refused', data.code, data.message);
}

/** Answers a message to where it came from: a client's inbox, or the asking or telling actor. */
export function answer(
  t: TurnContext,
  item: OutItem,
  given: { result?: unknown; error?: ErrorData },
): void {
  if (item.reply) return reply(t, item.to, item.reply, given);
  if (!item.from || !given.error || item.event.type === 'refused' || item.event.type === 'reply') {
    if (given.error && item.from) deadLetter(t, item, 'REFUSED', given.error);
    return;
  }
  tellBack(t, item.to, item.from, {
    type: 'refused',
    to: item.id,
    message: item.event.type,
    error: given.error,
  });
}

/** Answers a request. The first answer of a keyed request is kept with its key (F3). */
export function reply(
  t: TurnContext,
  from: Address,
  to: ReplyRef,
  given: { result?: unknown; error?: ErrorData },
): void {
  if (to.actor) return tellBack(t, from, to.actor, { type: 'reply', to: to.id, ...given });
  if (to.key) t.residents.keys.done(t, to.key, given);
  if (to.inbox)
    t.draft.after.push({
      kind: 'respond',
      inbox: to.inbox,
      id: to.id,
      ...(to.key ? { keyRow: to.key } : {}),
      ...given,
    });
}

function tellBack(t: TurnContext, from: Address, to: Address, event: Message): void {
  sendTo(t, { to, id: outId(t), event, from, hops: 0 });
}

/**
 * The id of the next message of this turn: unique, since turn numbers are committed and never
 * reused.
 */
export const outId = (t: TurnContext): string =>
  `${t.world.cell.slice(0, 8)}-${t.world.shard}-${t.turnNo}-${t.draft.out.length}`;

export function sendTo(t: TurnContext, item: OutItem, lane: 'data' | 'control' = 'data'): void {
  t.draft.send(t.residents.shardOf(item.to), lane, item);
}

/** Keeps a message that will not be applied, with its reason (I9). */
export function deadLetter(t: TurnContext, item: OutItem, reason: string, error: ErrorData): void {
  t.draft.send('dlq', 'data', {
    ...item,
    id: outId(t),
    event: { type: 'deadLetter', reason, error, at: t.group.now, id: item.id, event: item.event },
  });
}

export function metaOf(t: TurnContext, item: OutItem): Meta {
  const meta: { -readonly [K in keyof Meta]: Meta[K] } = {
    id: item.id,
    now: t.group.now,
    self: item.to,
  };
  if (item.from) meta.from = item.from;
  if (item.reply) meta.reply = item.reply;
  if (item.principal) meta.principal = item.principal;
  if (item.traceId) meta.traceId = item.traceId;
  return meta;
}

export function end(t: TurnContext, facts: TurnFacts): void {
  t.group.finish(t.draft, facts);
}
