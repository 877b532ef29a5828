/**
 * Invariants V1 to V8 of the commit protocol, each a function that returns the violation, or ''.
 * All but V5 hold in every state. V5 says what must be done when only faults and choices remain as
 * next steps.
 */
import type { Configuration } from './configurations.ts';
import type { Violation } from './explore.ts';
import type { ShardIndex, World } from './world.ts';

type Invariant = (world: World, configuration: Configuration) => string | undefined;

const shards: readonly ShardIndex[] = [0, 1];

/** V1: at most one successor of a journal position counts. */
const oneSuccessor: Invariant = ({ shards: both }) => {
  for (const { journal } of both) {
    const prevs = journal.stored.filter((stored) => stored.counts).map(({ record }) => record.prev);
    const chained = prevs.filter((prev) => prev > 0);
    if (new Set(chained).size < chained.length) {
      return `two records count after one position: ${prevs.join(' ')}`;
    }
  }
  return undefined;
};

/** V2: every item that left a shard is in a record that counts, with the same content. */
const outputsAreCommitted: Invariant = ({ shards: both, network, effects }) => {
  const { sentEver, committed } = both[0].journal;
  const late = network.flatMap((append) => (append.to === 'link' ? [append.entry] : []));
  for (const entry of [...both[1].mail.entries, ...late]) {
    if (entry.kind !== 'links') continue;
    for (const [index, body] of entry.bodies.entries()) {
      const n = entry.first + index;
      if (sentEver[n - 1] !== body) {
        return `item ${n} left as ${body}, committed is ${sentEver[n - 1] ?? 'nothing'}`;
      }
    }
  }
  if (effects.starts > 0 && committed.intent.state === 'none') {
    return 'an effect began and its intent is not committed';
  }
  return undefined;
};

/**
 * V3: the receiver accepts a prefix of the sent items, and a client's messages are applied in the
 * order sent.
 */
const orderWithoutGap: Invariant = ({ shards: both }, { clients }) => {
  const { sentEver, committed } = both[0].journal;
  const accepted = both[1].journal.committed.applied;
  if (accepted.some((body, index) => body !== sentEver[index])) {
    return `accepted ${accepted.join(' ')}, sent ${sentEver.join(' ')}`;
  }
  for (const row of clients) {
    const applied = committed.applied.filter((message) => row.includes(message));
    const inOrder = [...new Set(applied)].every((message, index) => message === row[index]);
    if (!inOrder) return `a client sent ${row.join(' ')}, applied is ${applied.join(' ')}`;
  }
  return undefined;
};

/** V4: no message, key or timer is applied twice. */
const appliedOnce: Invariant = ({ shards: both }) => {
  const { applied } = both[0].journal.committed;
  return new Set(applied).size < applied.length ? `applied ${applied.join(' ')}` : undefined;
};

/** V5: without further faults and with an owner per shard, all accepted work is done. */
const nothingLeftUndone: Invariant = ({ shards: both, clients }) => {
  const [sender, receiver] = [both[0].journal, both[1].journal];
  for (const [message, progress] of Object.entries(clients)) {
    if (progress !== 'accepted') return `${message} was never accepted`;
    if (!sender.committed.applied.includes(message))
      return `${message} was accepted, never applied`;
  }
  const { applied } = receiver.committed;
  if (applied.length < sender.sentEver.length) {
    return `sent ${sender.sentEver.join(' ')}, accepted only ${applied.join(' ') || 'nothing'}`;
  }
  const { intent, timer } = sender.committed;
  if (intent.state === 'open' || intent.state === 'started')
    return `the effect stays ${intent.state}`;
  if (timer === 'armed') return 'the timer never fires';
  return undefined;
};

/** V6: a `once` effect starts once, and once more for each decision to try again. */
const startedOnce: Invariant = ({ effects: { starts, again } }) =>
  starts > 1 + again ? `started ${starts} times with ${again} decisions to try again` : undefined;

/** V7: nothing that a process must read and that can still commit is trimmed or half written. */
const nothingNeededIsTrimmed: Invariant = (world) => {
  for (const shard of shards) {
    const { journal, mail } = world.shards[shard];
    if (journal.pointer && !journal.pointer.whole) return 'the pointer names a half-written blob';
    const covers = journal.pointer?.covers ?? 0;
    if (journal.trimmedTo > covers) {
      return `the journal is trimmed to ${journal.trimmedTo}, a snapshot covers ${covers}`;
    }
    if (mail.trimmedTo > journal.committed.mailFloor) {
      const floor = journal.committed.mailFloor;
      return `the mailbox is trimmed to ${mail.trimmedTo}, the committed floor is ${floor}`;
    }
  }
  return undefined;
};

/**
 * V8: a committed turn never leaves the fold: every record that counts was built on all before it.
 */
const foldKeepsAll: Invariant = ({ shards: both }) => {
  const less = both[0].journal.builtOnLess || both[1].journal.builtOnLess;
  return less ? `record ${less} counts, and was not built on all records before it` : undefined;
};

export const inEveryState = {
  V1: oneSuccessor,
  V2: outputsAreCommitted,
  V3: orderWithoutGap,
  V4: appliedOnce,
  V6: startedOnce,
  V7: nothingNeededIsTrimmed,
  V8: foldKeepsAll,
} as const satisfies Record<string, Invariant>;

export const atRest = { V5: nothingLeftUndone } as const satisfies Record<string, Invariant>;

export type InvariantId = keyof typeof inEveryState | keyof typeof atRest;

export function firstBroken(
  invariants: Readonly<Record<string, Invariant>>,
  world: World,
  configuration: Configuration,
): Violation | undefined {
  for (const invariant in invariants) {
    const why = invariants[invariant]?.(world, configuration);
    if (why !== undefined) return { invariant, why };
  }
  return undefined;
}
