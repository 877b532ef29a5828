/**
 * Stash: messages an actor cannot take yet (B3): its state defers them, or it is suspended after a
 * crash. Rows beside the actor, in order, bounded by the type's mailbox policy (RT8); the mailbox
 * itself is no waiting room, so one slow actor never holds the shard's floor.
 */
import { decode, encode } from '../../protocols/codec.ts';
import type { Message } from '../../protocols/statechart.ts';
import { carryAsks } from './asks.ts';
import { sortable } from './actor-row.ts';
import { TABLE } from './fold.ts';
import type { OutItem } from './records.ts';
import {
  deadLetter,
  end,
  refuse,
  type Resident,
  type Settles,
  type TurnContext,
} from './context.ts';

/** Policy `defer` keeps so many times the capacity before it refuses, too. */
export const DEFER_FACTOR = 10;

export type Stashed =
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
      return refuse(t, item, input, {
        result: 'refused',
        code: 'RATE_LIMIT_EXCEEDED',
        message: `the mailbox of ${item.to} is full: ${held} messages wait, ${room} are allowed`,
        resident,
      });
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
