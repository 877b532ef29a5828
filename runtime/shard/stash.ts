/**
 * Stash: messages an actor cannot take yet (B3): its state defers them, or it is suspended after a
 * crash. Rows beside the actor, in order, bounded by the type's mailbox policy (RT8); the mailbox
 * itself is no waiting room, so one slow actor never holds the shard's floor.
 */
import { decode, encode } from '../../protocols/codec.ts';
import type { Message } from '../../protocols/statechart.ts';
import { defers } from '../statechart/host.ts';
import { carryAsks } from './asks.ts';
import { sortable } from './actor-row.ts';
import { TABLE } from './fold.ts';
import type { OutItem } from './records.ts';
import type { Resident } from './residents.ts';
import {
  type Settles,
  type TurnContext,
  applyCause,
  applyMessage,
  deadLetter,
  end,
  refuse,
} from './turn.ts';

/** Policy `defer` keeps so many times the capacity before it refuses, too. */
export const DEFER_FACTOR = 10;

type Stashed =
  | { readonly kind: 'message'; readonly item: OutItem }
  /** an outcome or a timer that came while the actor was suspended */
  | { readonly kind: 'cause'; readonly settles: Settles; readonly event: Message };

export const stashKey = (actor: string, n: number): string => `${actor}|${sortable(n)}`;

/** Keeps a message for later, or does what the mailbox policy says when the stash is full. */
export function stashMessage(
  t: TurnContext,
  resident: Resident,
  item: OutItem,
  input: string,
): void {
  const { capacity, whenFull } = resident.definition.mailbox;
  const held = resident.actor.stashEnd - resident.actor.stashFirst;
  if (whenFull === 'coalesce' && replaceSameType(t, resident, item, input)) return;
  const room = whenFull === 'defer' ? capacity * DEFER_FACTOR : capacity;
  if (held >= room) {
    if (whenFull !== 'dropOldest') {
      return refuse(
        t,
        item,
        input,
        'refused',
        'RATE_LIMIT_EXCEEDED',
        `the mailbox of ${item.to} is full: ${held} messages wait, ${room} are allowed`,
        resident,
      );
    }
    dropOldest(t, resident);
  }
  push(t, resident, { kind: 'message', item });
  end(t, { input, actor: resident.address, machine: resident.actor.machine, result: 'stashed' });
}

/**
 * Keeps an outcome or a timer of a suspended actor. Not bounded by the mailbox: an actor has few of
 * them.
 */
export function stashCause(
  t: TurnContext,
  resident: Resident,
  settles: Settles,
  event: Message,
  input: string,
): void {
  push(t, resident, { kind: 'cause', settles, event });
  end(t, { input, actor: resident.address, machine: resident.actor.machine, result: 'stashed' });
}

/**
 * Takes the oldest stashed message if the actor can take it now. Answers whether it made a turn.
 */
export function takeStashed(t: TurnContext, resident: Resident): boolean {
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
  replay(t, resident, stashed, input);
  return true;
}

function replay(t: TurnContext, resident: Resident, stashed: Stashed, input: string): void {
  if (resident.actor.status !== 'active') return unwanted(t, resident, stashed, input);
  if (stashed.kind === 'cause')
    return applyCause(t, resident, { event: stashed.event, ...stashed.settles }, undefined, input);
  const { deadline } = stashed.item;
  if (deadline !== undefined && deadline < t.group.now) {
    t.residents.save(t, resident);
    return refuse(
      t,
      stashed.item,
      input,
      'expired',
      'EXPIRED',
      'the message waited in the stash past its deadline',
      resident,
    );
  }
  applyMessage(t, resident, stashed.item, input);
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
  refuse(
    t,
    stashed.item,
    input,
    'refused',
    'UNAVAILABLE',
    `${resident.address} is ${status}; the message is in the dead letters`,
    resident,
  );
}

function push(t: TurnContext, resident: Resident, stashed: Stashed): void {
  const n = resident.actor.stashEnd;
  t.draft.put(TABLE.stash, stashKey(resident.address, n), encode(stashed));
  resident.actor = { ...resident.actor, stashEnd: n + 1 };
  if (resident.bornAsks.length > 0) carryAsks(t, resident, [], undefined);
  t.residents.save(t, resident);
}

function dropOldest(t: TurnContext, resident: Resident): void {
  const n = resident.actor.stashFirst;
  const key = stashKey(resident.address, n);
  const bytes = t.fold.get(TABLE.stash, key);
  resident.actor = { ...resident.actor, stashFirst: n + 1 };
  if (!bytes) return;
  t.draft.put(TABLE.stash, key, null);
  const stashed = decode<Stashed>(bytes);
  if (stashed.kind === 'message')
    deadLetter(t, stashed.item, 'DROPPED_OLDEST', {
      code: 'RATE_LIMIT_EXCEEDED',
      message: `the mailbox of ${resident.address} was full`,
    });
}

/** `coalesce`: a newer message of a type that already waits takes the place of the older one. */
function replaceSameType(
  t: TurnContext,
  resident: Resident,
  item: OutItem,
  input: string,
): boolean {
  const { stashFirst, stashEnd, machine } = resident.actor;
  for (let n = stashEnd - 1; n >= stashFirst; n--) {
    const key = stashKey(resident.address, n);
    const bytes = t.fold.get(TABLE.stash, key);
    const stashed = bytes && decode<Stashed>(bytes);
    if (stashed?.kind !== 'message' || stashed.item.event.type !== item.event.type) continue;
    deadLetter(t, stashed.item, 'COALESCED', {
      code: 'CANCELLED',
      message: `a newer ${item.event.type} took its place`,
    });
    t.draft.put(TABLE.stash, key, encode({ kind: 'message', item }));
    end(t, { input, actor: resident.address, machine, result: 'stashed', why: 'coalesced' });
    return true;
  }
  return false;
}
