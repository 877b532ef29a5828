/** Unstash: processes stashed messages, oldest first, as soon as their actor accepts them (B3). */
import { defers, isDone } from '../statechart/host.ts';
import type { Address } from '../../protocols/address.ts';
import {
  beginTurn,
  deadLetter,
  end,
  refuse,
  type ActivatedActor,
  type ShardParts,
  type TurnContext,
} from './context.ts';
import type { Group } from './group.ts';
import type { Fold } from './fold.ts';
import type { Carrier } from './inputs.ts';
import { findReadable } from './activated-actors.ts';
import { type Stashed, stashKey, takeOut, waitingOf } from './stash.ts';
import { keepActor } from './turn.ts';

/**
 * Processes what the stash of an actor releases; returns whether there may be more. A stashed row
 * that only another worker can read stays for that worker.
 */
export function takeStashedOf(
  parts: ShardParts,
  group: Group,
  actor: Address,
  by: Carrier,
): boolean {
  const resident = findReadable(parts, actor);
  return resident ? takeStashed(beginTurn(parts, group), resident, by) : false;
}

/** Key of the stash row that `takeStashedOf` would take; undefined when it would take none. */
export function nextStashed(parts: ShardParts, actor: Address): string | undefined {
  const resident = findReadable(parts, actor);
  const next = resident && waitingOf(parts.fold, resident)[nextOf(parts.fold, resident)];
  return next && stashKey(actor, next.n);
}

/** Takes the oldest of what waits and can be taken now. Answers whether it made a turn. */
function takeStashed(t: TurnContext, resident: ActivatedActor, by: Carrier): boolean {
  const at = nextOf(t.fold, resident);
  const next = waitingOf(t.fold, resident)[at];
  if (!next) return false;
  replay(t, resident, takeOut(t, resident, at), `s${stashKey(resident.address, next.n)}`, by);
  return true;
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

function replay(
  t: TurnContext,
  resident: ActivatedActor,
  stashed: Stashed,
  input: string,
  by: Carrier,
): void {
  if (resident.actor.status !== 'active') return unwanted(t, resident, stashed, input);
  if (isDone(resident.live)) return tooLate(t, resident, stashed, input);
  if (stashed.kind === 'cause') {
    if (stashed.life !== resident.actor.life)
      return leave(t, resident, input, 'of an earlier life');
    return by.cause(t, resident, { event: stashed.event, ...stashed.settles }, input);
  }
  const { deadline } = stashed.item;
  if (deadline !== undefined && deadline < t.group.now) {
    t.residents.save(t, resident);
    return refuse(t, stashed.item, input, {
      result: 'expired',
      code: 'EXPIRED',
      message: 'the message waited in the stash past its deadline',
      resident,
    });
  }
  by.stashed(t, resident, stashed.item, input);
}

/** The actor ended while messages waited: they are refused as any that comes now. */
function tooLate(t: TurnContext, resident: ActivatedActor, stashed: Stashed, input: string): void {
  if (stashed.kind === 'cause') return leave(t, resident, input, 'ended');
  keepActor(t, resident);
  const { address } = resident;
  refuse(t, stashed.item, input, {
    result: 'refused',
    code: 'CONFLICT',
    message: `${address} has ended and takes no more messages`,
    resident,
  });
}

/** The actor was stopped or quarantined while messages waited: none is just gone (I9). */
function unwanted(t: TurnContext, resident: ActivatedActor, stashed: Stashed, input: string): void {
  const { status } = resident.actor;
  if (stashed.kind === 'cause') return leave(t, resident, input, status);
  t.residents.save(t, resident);
  deadLetter(t, stashed.item, status.toUpperCase(), {
    code: 'UNAVAILABLE',
    message: `${resident.address} is ${status}`,
  });
  refuse(t, stashed.item, input, {
    result: 'refused',
    code: 'UNAVAILABLE',
    message: `${resident.address} is ${status}; the message is in the dead letters`,
    resident,
    kept: true,
  });
}

/** An outcome or a timer that the machine no longer waits for. */
function leave(t: TurnContext, resident: ActivatedActor, input: string, why: string): void {
  keepActor(t, resident);
  const { address, actor } = resident;
  end(t, { input, actor: address, machine: actor.machine, result: 'dropped', why });
}
