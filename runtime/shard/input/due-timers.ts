/**
 * Due timers. A timer's row is removed and its event applied in one record, so it fires once (H2).
 */
import type { Address } from '../../../protocols/address.ts';
import type { Meta } from '../../../protocols/statechart.ts';
import { isWorkTimer, missedPolicy } from '../../actor/define-actor.ts';
import { type Cause, fired, missed, postponed } from '../../statechart/host.ts';
import { UnreadableRow } from '../turn/activated-actors.ts';
import { timerId } from '../turn/requests.ts';
import {
  timeOf,
  type ActivatedActor,
  type ShardParts,
  type TurnContext,
  verdict,
} from '../turn/turn-context.ts';
import { TABLE } from '../commit/fold.ts';
import type { Verdict } from '../commit/group.ts';
import type { InputHandlers } from './input-handlers.ts';
import type { ShardTime } from '../shard-time.ts';

/** What decides about a timer that is due. */
export type Timing = {
  /** shard time at which this owner took over: timers that were due before it were missed */
  readonly since: number;
  readonly time: Pick<ShardTime, 'skippedMs'>;
};

/** A row of the timer table with its actor, if that exists. */
export type DueTimer = {
  readonly id: string;
  readonly name: string;
  readonly resident: ActivatedActor | undefined;
};

/**
 * The timer with this id; undefined if it was cancelled, or if only another worker can read the row
 * of its actor, for which the timer stays.
 */
export function findDueTimer({ fold, residents }: ShardParts, id: string): DueTimer | undefined {
  const name = fold.get(TABLE.timer, id);
  if (!name) return undefined;
  try {
    const resident = residents.find(parseTimer(id).actor);
    return { id, name: Buffer.from(name).toString(), resident };
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error;
    return undefined;
  }
}

export function onTimer(
  t: TurnContext,
  { id, name, resident }: DueTimer,
  { since, time }: Timing,
  by: InputHandlers,
): Verdict {
  const { due, actor, life, key } = parseTimer(id);
  t.draft.put(TABLE.timer, id, null);
  t.source = { kind: 'timer', name };
  if (!resident || resident.actor.life.toString(36) !== life)
    return { actor, machine: '', result: 'dropped', why: 'of an earlier life' };
  const meta: Meta = { id: `${actor}|${life}.${key}`, ...timeOf(t.group), self: actor };
  const cause = fired(resident.live, name, key, meta);
  const armedAt = resident.live.timers[name]?.at;
  const skippedMs = isWorkTimer(resident.definition, name) ? time.skippedMs(armedAt, due) : 0;
  if (skippedMs > 0 && isArmed(resident.live, cause))
    return postpone(t, resident, cause, due + skippedMs);
  if (due < since && missedPolicy(resident.definition, name) === 'skip')
    return skipMissed(t, resident, cause);
  return by.cause(t, resident, cause);
}

const isArmed = ({ timers }: ActivatedActor['live'], { timer }: Cause): boolean =>
  timers[timer!.id]?.key === timer!.key && !timers[timer!.id]!.fired;

/** A time limit of running work is extended by the time in which the work could not run. */
function postpone(t: TurnContext, resident: ActivatedActor, cause: Cause, due: number): Verdict {
  const { id, key } = cause.timer!;
  const timer = timerId(due, resident.address, resident.actor.life, key);
  t.draft.put(TABLE.timer, timer, Buffer.from(id));
  t.draft.after.push({ kind: 'arm', due, timer });
  resident.live = postponed(resident.live, cause, due, t.group.now);
  t.residents.save(t, resident);
  return verdict(resident, 'dropped', 'the clock skipped time');
}

function skipMissed(t: TurnContext, resident: ActivatedActor, cause: Cause): Verdict {
  resident.live = missed(resident.live, cause);
  t.residents.save(t, resident);
  return verdict(resident, 'dropped', 'missed while down');
}

/** `{due}|{address}|{life}.{seq}.{n}`: the address may hold `|` and `.`, the rest does not. */
export function parseTimer(id: string): {
  due: number;
  actor: Address;
  life: string;
  key: string;
} {
  const first = id.indexOf('|');
  const last = id.lastIndexOf('|');
  const tail = id.slice(last + 1);
  const dot = tail.indexOf('.');
  return {
    due: Number.parseInt(id.slice(0, first), 36),
    actor: id.slice(first + 1, last) as Address,
    life: tail.slice(0, dot),
    key: tail.slice(dot + 1),
  };
}
