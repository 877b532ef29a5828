/**
 * Stash: messages that an actor cannot process yet (B3), because its state defers them or it is
 * suspended after a crash. They are ordered rows, bounded by the mailbox policy of the type.
 * Messages do not wait in the mailbox itself, so a slow actor never holds the floor of its shard.
 */
import { decode, encode } from '../../../protocols/codec.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { sortable } from './actor-row.ts';
import { type Fold, TABLE } from '../commit/fold.ts';
import type { Verdict } from '../commit/group.ts';
import type { OutItem } from '../commit/records.ts';
import {
  giveUp,
  refuse,
  type ActivatedActor,
  type Settles,
  type TurnContext,
  verdict,
  type Waiting,
} from './turn-context.ts';

/** Policy `defer` stores this multiple of the capacity before it refuses as well. */
export const DEFER_FACTOR = 10;

export type Stashed =
  | { readonly kind: 'message'; readonly item: OutItem }
  /** an outcome or a timer that arrived while the actor was suspended */
  | {
      readonly kind: 'cause';
      /** the actor's life that asked for it: keys repeat in the next one */
      readonly life: number;
      readonly settles: Settles;
      readonly event: Message;
    };

export const stashKey = (actor: string, n: number): string => `${actor}|${sortable(n)}`;

/** Stashed messages, oldest first. Read from the rows once, then kept with the actor in memory. */
export function waitingOf(fold: Fold, resident: ActivatedActor): Waiting[] {
  if (resident.waiting) return resident.waiting;
  const { address, actor } = resident;
  const waiting: Waiting[] = [];
  for (let n = actor.stashFirst; n < actor.stashEnd; n++) {
    const bytes = fold.get(TABLE.stash, stashKey(address, n));
    if (!bytes) continue; // taken before older ones
    const stashed = decode<Stashed>(bytes);
    waiting.push({ n, type: stashed.kind === 'message' ? stashed.item.event.type : undefined });
  }
  return (resident.waiting = waiting);
}

/** Removes the message at this index from the stash, within the turn. */
export function takeOut(t: TurnContext, resident: ActivatedActor, at: number): Stashed {
  const waiting = waitingOf(t.fold, resident);
  const key = stashKey(resident.address, waiting[at]!.n);
  const stashed = decode<Stashed>(t.fold.get(TABLE.stash, key)!);
  t.draft.put(TABLE.stash, key, null);
  waiting.splice(at, 1);
  const { actor } = resident;
  resident.actor = { ...actor, stashFirst: waiting[0]?.n ?? actor.stashEnd };
  return stashed;
}

/** Stores a message for later; applies the mailbox policy when the stash is full. */
export function stashMessage(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  const { capacity, whenFull } = resident.definition.mailbox;
  const held = waitingOf(t.fold, resident).length;
  if (whenFull === 'coalesce' && replaceSameType(t, resident, item))
    return verdict(resident, 'stashed', 'coalesced');
  const room = whenFull === 'defer' ? capacity * DEFER_FACTOR : capacity;
  if (held >= room) {
    if (whenFull !== 'dropOldest') {
      return refuse(t, item, {
        result: 'refused',
        code: 'RATE_LIMIT_EXCEEDED',
        message: `the mailbox of ${item.to} is full: ${held} messages wait, ${room} are allowed`,
        resident,
      });
    }
    dropOldest(t, resident);
  }
  push(t, resident, { kind: 'message', item });
  return verdict(resident, 'stashed');
}

/**
 * Keeps an outcome or a timer of a suspended actor. Not bounded by the mailbox: an actor has few of
 * them.
 */
export function stashCause(
  t: TurnContext,
  resident: ActivatedActor,
  settles: Settles,
  event: Message,
): Verdict {
  push(t, resident, { kind: 'cause', life: resident.actor.life, settles, event });
  return verdict(resident, 'stashed');
}

function push(t: TurnContext, resident: ActivatedActor, stashed: Stashed): void {
  const n = resident.actor.stashEnd;
  const type = stashed.kind === 'message' ? stashed.item.event.type : undefined;
  waitingOf(t.fold, resident).push({ n, type });
  t.draft.put(TABLE.stash, stashKey(resident.address, n), encode(stashed));
  resident.actor = { ...resident.actor, stashEnd: n + 1 };
  t.residents.save(t, resident);
}

function dropOldest(t: TurnContext, resident: ActivatedActor): void {
  const at = waitingOf(t.fold, resident).findIndex(({ type }) => type !== undefined);
  if (at < 0) return;
  const dropped = takeOut(t, resident, at);
  if (dropped.kind !== 'message') return;
  giveUp(t, dropped.item, 'DROPPED_OLDEST', {
    code: 'RATE_LIMIT_EXCEEDED',
    message: `the mailbox of ${resident.address} was full, and this message the oldest in it`,
  });
}

/** `coalesce`: a newer message replaces a waiting message of the same type. */
function replaceSameType(t: TurnContext, resident: ActivatedActor, item: OutItem): boolean {
  const same = waitingOf(t.fold, resident).findLast(({ type }) => type === item.event.type);
  if (!same) return false;
  const key = stashKey(resident.address, same.n);
  const replaced = decode<Stashed>(t.fold.get(TABLE.stash, key)!);
  if (replaced.kind === 'message')
    giveUp(t, replaced.item, 'COALESCED', {
      code: 'CANCELLED',
      message: `a newer ${item.event.type} replaced it`,
    });
  t.draft.put(TABLE.stash, key, encode({ kind: 'message', item }));
  return true;
}
