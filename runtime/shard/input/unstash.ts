/** Unstash: processes stashed messages, oldest first, as soon as their actor accepts them (B3). */
import { defers, isDone } from '../../statechart/host.ts';
import type { Address } from '../../../protocols/address.ts';
import {
  deadLetter,
  refuse,
  type ActivatedActor,
  type ShardParts,
  type TurnContext,
  verdict,
} from '../turn/turn-context.ts';
import type { Verdict } from '../commit/group.ts';
import type { Fold } from '../commit/fold.ts';
import type { InputHandlers } from './input-handlers.ts';
import { findReadable } from '../turn/activated-actors.ts';
import { type Stashed, stashKey, takeOut, waitingOf } from '../turn/stash.ts';
import { keepActor } from '../turn/turn.ts';

/** The stashed row that its actor accepts next. */
export type NextStashed = {
  /** key of its row */
  readonly key: string;
  readonly resident: ActivatedActor;
  readonly index: number;
};

/**
 * The oldest stashed row that the actor accepts now. A row that only another worker can read stays
 * for that worker.
 */
export function nextStashed(parts: ShardParts, actor: Address): NextStashed | undefined {
  const resident = findReadable(parts, actor);
  if (!resident) return undefined;
  const index = nextOf(parts.fold, resident);
  const next = waitingOf(parts.fold, resident)[index];
  return next && { key: stashKey(actor, next.n), resident, index };
}

/** Removes a row from its stash and processes it. */
export function onStashed(
  t: TurnContext,
  { resident, index }: NextStashed,
  by: InputHandlers,
): Verdict {
  const stashed = takeOut(t, resident, index);
  t.source =
    stashed.kind === 'message'
      ? { kind: 'message', item: stashed.item }
      : { kind: 'event', event: stashed.event };
  if (resident.actor.status !== 'active') return outOfService(t, resident, stashed);
  if (isDone(resident.live)) return afterEnd(t, resident, stashed);
  if (stashed.kind === 'cause') {
    if (stashed.life !== resident.actor.life) return drop(t, resident, 'of an earlier life');
    return by.cause(t, resident, { event: stashed.event, ...stashed.settles });
  }
  const { deadline } = stashed.item;
  if (deadline !== undefined && deadline < t.group.now) {
    t.residents.save(t, resident);
    return refuse(t, stashed.item, {
      result: 'expired',
      code: 'EXPIRED',
      message: 'the message waited in the stash past its deadline',
      resident,
    });
  }
  return by.stashed(t, resident, stashed.item);
}

/**
 * Index of the oldest that its state does not defer, as in selective receive; -1 for none. Of a
 * quarantined actor the messages, which end as dead letters.
 */
function nextOf(fold: Fold, resident: ActivatedActor): number {
  const { actor, definition, live } = resident;
  if (actor.status === 'suspended') return -1;
  const waiting = waitingOf(fold, resident);
  if (actor.status === 'stopped') return waiting.length > 0 ? 0 : -1;
  if (actor.status === 'quarantined') return waiting.findIndex(({ type }) => type !== undefined);
  const waits = new Map<string, boolean>();
  return waiting.findIndex(({ type }) => {
    if (type === undefined) return true;
    let deferred = waits.get(type);
    if (deferred === undefined)
      waits.set(type, (deferred = defers(definition.machine, live, type)));
    return !deferred;
  });
}

/** The actor ended while messages waited: they are refused like new ones. */
function afterEnd(t: TurnContext, resident: ActivatedActor, stashed: Stashed): Verdict {
  if (stashed.kind === 'cause') return drop(t, resident, 'ended');
  keepActor(t, resident);
  return refuse(t, stashed.item, {
    result: 'refused',
    code: 'CONFLICT',
    message: `${resident.address} has ended and accepts no more messages`,
    resident,
  });
}

/** The actor was stopped or quarantined while messages waited: they become dead letters (I9). */
function outOfService(t: TurnContext, resident: ActivatedActor, stashed: Stashed): Verdict {
  const { status } = resident.actor;
  if (stashed.kind === 'cause') return drop(t, resident, status);
  t.residents.save(t, resident);
  deadLetter(t, stashed.item, status.toUpperCase(), {
    code: 'UNAVAILABLE',
    message: `${resident.address} is ${status}`,
  });
  return refuse(t, stashed.item, {
    result: 'refused',
    code: 'UNAVAILABLE',
    message: `${resident.address} is ${status}; the message is in the dead letters`,
    resident,
    kept: true,
  });
}

/** An outcome or a timer that the machine no longer waits for. */
function drop(t: TurnContext, resident: ActivatedActor, why: string): Verdict {
  keepActor(t, resident);
  return verdict(resident, 'dropped', why);
}
