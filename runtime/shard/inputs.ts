/**
 * Inputs: everything that a shard processes, each as exactly one turn (B2): mailbox entries, due
 * timers and stashed messages. All deduplication is here: link items by number (E1), client
 * messages by key (F3), outcomes by their open intent (E4), timers by their row (H2).
 */
import type { Meta } from '../../protocols/statechart.ts';
import { isWorkTimer, missedPolicy } from '../actor/define-actor.ts';
import { type Cause, failed, fired, missed, postponed, settled } from '../statechart/host.ts';
import { intentId, timerId } from './asks.ts';
import { TABLE } from './fold.ts';
import type { Group } from './group.ts';
import { type Intent, decodeIntent, encodeIntent } from './intents.ts';
import type { MailEntry, OutItem } from './records.ts';
import { UnreadableRow } from './activated-actors.ts';
import type { ShardTime } from './shard-time.ts';
import { stashCause } from './stash.ts';
import {
  beginTurn,
  deadLetter,
  end,
  outId,
  refuse,
  reply,
  type ActivatedActor,
  type ShardParts,
  timeOf,
  type TurnContext,
} from './context.ts';
import { applyCause, applyMessage, takeMessage } from './turn.ts';

type ClientEntry = Extract<MailEntry, { kind: 'client' }>;
type OutcomeEntry = Extract<MailEntry, { kind: 'outcome' }>;
type LinksEntry = Extract<MailEntry, { kind: 'links' }>;

/** How an input that is no repeat is carried out: by its machine, or as poison without it (K2). */
export type Carrier = {
  message(t: TurnContext, item: OutItem, input: string): void;
  /** a message that waited in the actor's stash */
  stashed(t: TurnContext, resident: ActivatedActor, item: OutItem, input: string): void;
  cause(t: TurnContext, resident: ActivatedActor, cause: Cause, input: string): void;
};

export const byMachine: Carrier = {
  message: takeMessage,
  stashed: applyMessage,
  cause: takeCause,
};

/** Anything but the next number of its link is a repeat, or will be sent again (E1): no turn. */
export function takeLinkItem(
  parts: ShardParts,
  group: Group,
  { entry, n, item }: { entry: LinksEntry; n: number; item: OutItem },
  input: string,
  by: Carrier,
): void {
  const link = `${entry.src}/${entry.lane}`;
  if (n !== group.accepted(link) + 1) return;
  group.accept(link, n);
  by.message(beginTurn(parts, group), item, input);
}

export function takeClient(
  parts: ShardParts,
  group: Group,
  { entry: e, logTimeMs: storedAt }: { entry: ClientEntry; logTimeMs: number },
  input: string,
  by: Carrier,
): void {
  const t = beginTurn(parts, group);
  const logTimeMs = e.acceptedAt ?? storedAt;
  group.keyNow = Math.max(group.keyNow, logTimeMs);
  const item: OutItem = { ...e.item, deadline: logTimeMs + group.stampLagMs + e.ttlMs };
  if (e.key === undefined) return by.message(t, item, input);
  const { keys } = parts.residents;
  const rowKey = keys.rowKey(item.to, item.event.type, e.key);
  const known = keys.look(rowKey, e.payloadHash);
  if (known.kind === 'new') {
    if (!admitKey(t, item, e, logTimeMs, input)) return;
    keys.remember(t, rowKey, e.payloadHash);
    const keyed = { ...item, reply: { id: item.id, ...item.reply, key: rowKey } };
    return by.message(t, keyed, input);
  }
  if (known.kind === 'conflict') {
    return refuse(t, item, input, {
      result: 'refused',
      code: 'CONFLICT',
      message: `the idempotency key '${e.key}' was used with another payload for ${item.event.type} to ${item.to}`,
    });
  }
  if (known.kind === 'done' && item.reply) reply(t, item.to, item.reply, known.answer);
  if (known.kind === 'pending' && item.reply?.inbox) {
    t.draft.after.push({
      kind: 'wait',
      inbox: item.reply.inbox,
      id: item.reply.id,
      keyRow: rowKey,
    });
  }
  end(t, { input, actor: item.to, machine: '', result: 'duplicate' });
}

/** Whether a new key may be remembered; refuses the message where it may not. */
function admitKey(
  t: TurnContext,
  item: OutItem,
  { notAfter }: ClientEntry,
  logTimeMs: number,
  input: string,
): boolean {
  const { keyCount } = t.fold.scalars;
  if (logTimeMs > notAfter) {
    refuse(t, item, input, {
      result: 'expired',
      code: 'UNAVAILABLE',
      message:
        'this copy of the message arrived too late to tell whether it is a repeat; send it again',
    });
  } else if (keyCount >= t.world.limits.keysMax) {
    refuse(t, item, input, {
      result: 'refused',
      code: 'RATE_LIMIT_EXCEEDED',
      message: `shard ${t.world.shard} remembers ${keyCount} idempotency keys, which is its limit; send without a key or later`,
    });
  } else return true;
  return false;
}

/** An entry that does not parse is a dead letter with its position (E5). */
export function takeUnreadable(
  parts: ShardParts,
  group: Group,
  position: number,
  why: string,
): void {
  const t = beginTurn(parts, group);
  const nowhere = {
    to: `unreadable/mail/${position}` as OutItem['to'],
    id: outId(t),
    event: { type: 'unreadable' },
    hops: 0,
  };
  deadLetter(t, nowhere, 'UNREADABLE', { code: 'INVALID_ARGUMENT', message: why });
  end(t, { input: `m${position}`, actor: '', machine: '', result: 'dropped', why });
}

export function takeOutcome(
  parts: ShardParts,
  group: Group,
  e: OutcomeEntry,
  input: string,
  by: Carrier,
): void {
  const t = beginTurn(parts, group);
  const bytes = parts.fold.get(TABLE.intent, e.intent);
  const intent = bytes && decodeIntent(bytes);
  const current = intent && (e.attempt === intent.attempt || e.outcome.kind === 'done');
  if (!intent || !current)
    return end(t, { input, actor: '', machine: '', result: 'dropped', why: 'stale outcome' });
  if (e.outcome.kind === 'notStarted' || e.outcome.kind === 'again')
    return reopen(t, e, intent, input);
  let resident: ActivatedActor | undefined;
  try {
    resident = parts.residents.find(intent.actor);
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error;
    // The row stays: a worker with this version runs or reconciles the effect later.
    return end(t, {
      input,
      actor: intent.actor,
      machine: intent.machine,
      result: 'dropped',
      why: String(error),
    });
  }
  t.draft.put(TABLE.intent, e.intent, null);
  if (!resident || intentId(intent.actor, resident.actor.life, intent.key) !== e.intent) {
    return end(t, {
      input,
      actor: intent.actor,
      machine: intent.machine,
      result: 'dropped',
      why: 'of an earlier life',
    });
  }
  const meta: Meta = {
    id: e.intent,
    ...timeOf(group),
    self: intent.actor,
    ...(intent.traceId ? { traceId: intent.traceId } : {}),
  };
  const cause =
    e.outcome.kind === 'done'
      ? settled(intent.job, intent.key, e.outcome.output, meta)
      : failed(intent.job, intent.key, e.outcome.error, meta);
  by.cause(t, resident, cause, input);
}

/**
 * An outcome or a timer: an actor that is suspended or quarantined keeps it, since it may be
 * resumed and would wait for it for ever; one that was stopped needs it no more.
 */
function takeCause(t: TurnContext, resident: ActivatedActor, cause: Cause, input: string): void {
  const { job, timer, event } = cause;
  const { status, machine } = resident.actor;
  if (status === 'active') return applyCause(t, resident, cause, undefined, input);
  const settles = { ...(job ? { job } : {}), ...(timer ? { timer } : {}) };
  if (status !== 'stopped') return stashCause(t, resident, settles, event, input);
  end(t, { input, actor: resident.address, machine, result: 'dropped', why: status });
}

/**
 * Back to `open`: it certainly did not begin (G8), or somebody decided that it may run again (G5).
 */
function reopen(t: TurnContext, e: OutcomeEntry, intent: Intent, input: string): void {
  if (e.outcome.kind === 'again' && intent.state !== 'unknown') {
    return end(t, {
      input,
      actor: intent.actor,
      machine: intent.machine,
      result: 'dropped',
      why: `the effect is ${intent.state}, not unknown`,
    });
  }
  t.draft.put(
    TABLE.intent,
    e.intent,
    encodeIntent({ ...intent, state: 'open', attempt: intent.attempt + 1, epoch: 0 }),
  );
  t.draft.after.push({ kind: 'start', intent: e.intent });
  end(t, {
    input,
    actor: intent.actor,
    machine: intent.machine,
    result: 'applied',
    why: e.outcome.kind,
  });
}

/** What decides about a timer that is due. */
export type Timing = {
  /** shard time at which this owner took over: timers that were due before it were missed */
  readonly since: number;
  readonly time: Pick<ShardTime, 'skippedMs'>;
};

/**
 * A timer that is due, if its row is still there: removed and applied in one record, so it fires
 * once (H2).
 */
export function takeTimer(
  parts: ShardParts,
  group: Group,
  id: string,
  { since, time }: Timing,
  by: Carrier,
): boolean {
  const { fold, residents } = parts;
  const name = fold.get(TABLE.timer, id);
  if (!name) return false;
  const { due, actor, life, key } = parseTimer(id);
  let resident: ActivatedActor | undefined;
  try {
    resident = residents.find(actor);
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error;
    return false; // unfit for this worker: the row stays for one that knows the version
  }
  const t = beginTurn(parts, group);
  const input = `t${id}`;
  t.draft.put(TABLE.timer, id, null);
  if (!resident || resident.actor.life.toString(36) !== life) {
    end(t, { input, actor, machine: '', result: 'dropped', why: 'of an earlier life' });
    return true;
  }
  const timer = Buffer.from(name).toString();
  const meta: Meta = { id: `${actor}|${life}.${key}`, ...timeOf(group), self: actor };
  const cause = fired(resident.live, timer, key, meta);
  const armedAt = resident.live.timers[timer]?.at;
  const skippedMs = isWorkTimer(resident.definition, timer) ? time.skippedMs(armedAt, due) : 0;
  if (skippedMs > 0 && isArmed(resident.live, cause))
    postpone(t, resident, cause, { from: id, due: due + skippedMs, input });
  else if (due < since && missedPolicy(resident.definition, timer) === 'skip')
    skipMissed(t, resident, cause, input);
  else by.cause(t, resident, cause, input);
  return true;
}

const isArmed = ({ timers }: ActivatedActor['live'], { timer }: Cause): boolean =>
  timers[timer!.id]?.key === timer!.key && !timers[timer!.id]!.fired;

/** A limit of running work passes only while the work can run. */
function postpone(
  t: TurnContext,
  resident: ActivatedActor,
  cause: Cause,
  { from, due, input }: { from: string; due: number; input: string },
): void {
  const { id, key } = cause.timer!;
  const { address: actor, live } = resident;
  const { machine, life } = resident.actor;
  const to = timerId(due, actor, life, key);
  t.draft.put(TABLE.timer, from, null);
  t.draft.put(TABLE.timer, to, Buffer.from(id));
  t.draft.after.push({ kind: 'arm', due, timer: to });
  resident.live = postponed(live, cause, due, t.group.now);
  t.residents.save(t, resident);
  end(t, { input, actor, machine, result: 'dropped', why: 'the clock skipped time' });
}

function skipMissed(t: TurnContext, resident: ActivatedActor, cause: Cause, input: string): void {
  resident.live = missed(resident.live, cause);
  t.residents.save(t, resident);
  end(t, {
    input,
    actor: resident.address,
    machine: resident.actor.machine,
    result: 'dropped',
    why: 'missed while down',
  });
}

/** `{due}|{address}|{life}.{seq}.{n}`: the address may hold `|` and `.`, the rest does not. */
export function parseTimer(id: string): {
  due: number;
  actor: OutItem['to'];
  life: string;
  key: string;
} {
  const first = id.indexOf('|');
  const last = id.lastIndexOf('|');
  const tail = id.slice(last + 1);
  const dot = tail.indexOf('.');
  return {
    due: Number.parseInt(id.slice(0, first), 36),
    actor: id.slice(first + 1, last) as OutItem['to'],
    life: tail.slice(0, dot),
    key: tail.slice(dot + 1),
  };
}
