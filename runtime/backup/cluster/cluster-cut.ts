/**
 * ClusterCut: a consistent cut of a running cluster, without a barrier and without a writer that
 * waits. It only reads.
 *
 * A cut is one position per journal. It is consistent if no shard has accepted a message that its
 * sender has not sent in the cut. Every message leaves a shard in a committed record (C1), so from
 * any positions there is a consistent cut right above them: where a receiver is ahead, the sender's
 * journal is folded on, up to the record that sent the message. That record was committed before
 * the receiver's, so it is there, and the search ends at the latest at the end of all journals at
 * the time when the last shard was loaded.
 *
 * Then all mail is read, after the positions are known. What a sender's cut calls settled was
 * stored in the mailbox before, so it is in the copy, or accepted.
 */
import type { Position } from '../../log/log.ts';
import type { ShardCopy } from './shard-copy.ts';
import { trimmedTooFast } from './shard-copy.ts';

const ROUNDS_MAX = 100;
/** Shards that are loaded, or whose mail is read, at once. */
const AT_ONCE = 4;

export type ClusterCutProgress = {
  readonly onProgress?: (what: string) => void;
  /** throws to end it */
  readonly assertWanted: () => void;
};

/** @throws TroupeError UNAVAILABLE when shards are trimmed faster than they are read */
export async function cutCluster(
  copies: readonly ShardCopy[],
  { onProgress, assertWanted }: ClusterCutProgress,
): Promise<void> {
  let loaded = 0;
  const load = async (copy: ShardCopy) => {
    assertWanted();
    await copy.load();
    onProgress?.(`shard ${++loaded} of ${copies.length}`);
  };
  await each(copies, load);
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    assertWanted();
    await closeCut(copies);
    const trimmed: ShardCopy[] = [];
    await each(copies, async (copy) => {
      if (!(await copy.readMail())) trimmed.push(copy);
    });
    if (trimmed.length === 0) return;
    onProgress?.(`${trimmed.length} shards again: their logs were trimmed`);
    await each(trimmed, (copy) => copy.load());
  }
  throw trimmedTooFast(copies[0]!.shard);
}

/** Folds senders on until no shard is ahead of another one. */
async function closeCut(copies: readonly ShardCopy[]): Promise<void> {
  for (let isClosed = false; !isClosed; ) {
    isClosed = true;
    for (const sender of copies) {
      const isEnough = () => hasSentAll(sender, copies);
      if (isEnough()) continue;
      isClosed = false;
      if (!(await sender.advance(isEnough))) await sender.load();
    }
  }
}

/** Whether a sender has sent, in the cut, all that the others have accepted from it. */
const hasSentAll = (sender: ShardCopy, copies: readonly ShardCopy[]): boolean =>
  copies.every((receiver) =>
    (['data', 'control'] as const).every(
      (lane) =>
        (receiver.scalars.linkIn[`${sender.shard}/${lane}`] ?? 0) <=
        lastSent(sender, receiver, lane),
    ),
  );

/** Number of the last message that a shard sent to another one, in the cut. */
export const lastSent = (
  { scalars }: ShardCopy,
  receiver: Pick<ShardCopy, 'shard'>,
  lane: 'data' | 'control',
): number => (scalars.linkOut[`${receiver.shard}/${lane}`] ?? 1) - 1;

/** The highest position of a journal in the cut. */
export const positionOf = (copies: readonly ShardCopy[]): Position =>
  Math.max(0, ...copies.map(({ position }) => position));

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const run = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
