/**
 * Unstash: messages that waited are taken, oldest first, as soon as their actor can take them (B3).
 */
import { decode } from '../../protocols/codec.ts';
import { defers, isDone } from '../statechart/host.ts';
import type { Address } from '../../protocols/address.ts';
import {
  beginTurn,
  deadLetter,
  end,
  refuse,
  type Resident,
  type ShardParts,
  type TurnContext,
} from './context.ts';
import type { Group } from './group.ts';
import { TABLE } from './fold.ts';
import type { Carrier } from './inputs.ts';
import { type Stashed, stashKey } from './stash.ts';
import { keepActor } from './turn.ts';

/** Takes what an actor's stash lets go; answers whether there may be more. */
export function takeStashedOf(
  parts: ShardParts,
  group: Group,
  actor: Address,
  by: Carrier,
): boolean {
  const resident = findFit(parts, actor);
  return resident ? takeStashed(beginTurn(parts, group), resident, by) : false;
}

/** A row that only another worker can read keeps its stash for that one. */
function findFit({ residents }: ShardParts, actor: Address): Resident | undefined {
  try {
    return residents.find(actor);
  } catch {
    return undefined;
  }
}

/** Key of the stash row that `takeStashedOf` would take; undefined when it would take none. */
export function nextStashed(parts: ShardParts, actor: Address): string | undefined {
  const resident = findFit(parts, actor);
  if (!resident) return undefined;
  const { status, stashFirst, stashEnd } = resident.actor;
  if (status === 'suspended' || stashFirst === stashEnd) return undefined;
  const key = stashKey(actor, stashFirst);
  const bytes = parts.fold.get(TABLE.stash, key);
  const stashed = bytes && decode<Stashed>(bytes);
  if (stashed?.kind !== 'message' || status !== 'active') return key;
  return defers(resident.definition.machine, resident.live, stashed.item.event.type)
    ? undefined
    : key;
}

/**
 * Takes the oldest stashed message if the actor can take it now. Answers whether it made a turn.
 */
function takeStashed(t: TurnContext, resident: Resident, by: Carrier): boolean {
  const { actor } = resident;
  if (actor.status === 'suspended' || actor.stashEnd === actor.stashFirst) return false;
  const n = actor.stashFirst;
  const key = stashKey(resident.address, n);
  const bytes = t.fold.get(TABLE.stash, key);
  const input = `s${key}`;
  if (!bytes) {
    resident.actor = { ...actor, stashFirst: n + 1 };
    t.residents.save(t, resident);
    end(t, {
      input,
      actor: resident.address,
      machine: actor.machine,
      result: 'dropped',
      why: 'replaced',
    });
    return true;
  }
  const stashed = decode<Stashed>(bytes);
  if (
    stashed.kind === 'message' &&
    actor.status === 'active' &&
    defers(resident.definition.machine, resident.live, stashed.item.event.type)
  )
    return false;
  t.draft.put(TABLE.stash, key, null);
  resident.actor = { ...actor, stashFirst: n + 1 };
  replay(t, resident, stashed, input, by);
  return true;
}

function replay(
  t: TurnContext,
  resident: Resident,
  stashed: Stashed,
  input: string,
  by: Carrier,
): void {
  if (resident.actor.status !== 'active') return unwanted(t, resident, stashed, input);
  if (isDone(resident.live)) return tooLate(t, resident, stashed, input);
  if (stashed.kind === 'cause')
    return by.cause(t, resident, { event: stashed.event, ...stashed.settles }, input);
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
function tooLate(t: TurnContext, resident: Resident, stashed: Stashed, input: string): void {
  keepActor(t, resident);
  const { address, actor } = resident;
  if (stashed.kind === 'cause')
    return end(t, { input, actor: address, machine: actor.machine, result: 'dropped', why: 'ended' });
  refuse(t, stashed.item, input, {
    result: 'refused',
    code: 'CONFLICT',
    message: `${address} has ended and takes no more messages`,
    resident,
  });
}

/** The actor was stopped or quarantined while messages waited: none is just gone (I9). */
function unwanted(t: TurnContext, resident: Resident, stashed: Stashed, input: string): void {
  t.residents.save(t, resident);
  const { status } = resident.actor;
  if (stashed.kind === 'cause')
    return end(t, {
      input,
      actor: resident.address,
      machine: resident.actor.machine,
      result: 'dropped',
      why: status,
    });
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
