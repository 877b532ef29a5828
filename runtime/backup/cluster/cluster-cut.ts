/**
 * ClusterCut: a consistent cut of a running cluster, without a barrier and without a writer that
 * waits. It only reads.
 *
 * All journals are in one stream, and all mailboxes in another one, so each has one order. What
 * causes a record was committed or stored before it, also where the cause is an effect or a client.
 * So the cut is one position of the journals' stream, which is read after all shards were loaded:
 * every shard is folded up to it. No shard has then accepted a message that its sender has not
 * sent.
 *
 * Then all mail is read. What a sender's cut calls settled was stored in the mailbox before, so it
 * is in the copy, or accepted. Messages of links are chosen by their numbers. What clients and
 * effects sent is chosen by its position: the cut has it up to the end of the mail before the
 * journals' position was read, or up to the last entry that a shard has applied in the cut, if that
 * is higher. What sent it was committed before that, so it is in the cut.
 */
import type { Position } from '../../log/log.ts';
import type { ShardCopy } from './shard-copy.ts';
import { trimmedTooFast } from './shard-copy.ts';

const ROUNDS_MAX = 100;
/** Shards that are loaded, or whose mail is read, at once. */
const AT_ONCE = 4;

/** Where a cluster is cut. */
export type ClusterCut = {
  /** of the stream of journals: every shard is folded up to here */
  readonly position: Position;
  /** of the stream of mail: entries of clients and effects above it do not belong to the cut */
  readonly mailEnd: Position;
};

export type ClusterCutProgress = {
  readonly onProgress?: (what: string) => void;
  /** throws to end it */
  readonly assertWanted: () => void;
};

/** @throws TroupeError UNAVAILABLE when shards are trimmed faster than they are read */
export async function cutCluster(
  copies: readonly ShardCopy[],
  { onProgress, assertWanted }: ClusterCutProgress,
): Promise<ClusterCut> {
  let loaded = 0;
  const load = async (copy: ShardCopy) => {
    assertWanted();
    await copy.load();
    onProgress?.(`shard ${++loaded} of ${copies.length}`);
  };
  await each(copies, load);
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    assertWanted();
    const before = await highest(copies, (copy) => copy.mailEnd());
    const position = await highest(copies, (copy) => copy.journalEnd());
    const trimmed = new Set<ShardCopy>();
    const take = async (copy: ShardCopy, isWhole: Promise<boolean>) => {
      if (!(await isWhole)) trimmed.add(copy);
    };
    await each(copies, (copy) => take(copy, copy.advanceTo(position)));
    if (trimmed.size === 0) await each(copies, (copy) => take(copy, copy.readMail()));
    if (trimmed.size === 0) {
      const applied = copies.map(({ scalars: s }) => Math.max(s.mailFloor, s.ctlFloor));
      return { position, mailEnd: Math.max(before, ...applied) };
    }
    onProgress?.(`${trimmed.size} shards again: their logs were trimmed`);
    await each([...trimmed], (copy) => copy.load());
  }
  throw trimmedTooFast(copies[0]!.shard);
}

async function highest(
  copies: readonly ShardCopy[],
  endOf: (copy: ShardCopy) => Promise<Position>,
): Promise<Position> {
  let end = 0;
  await each(copies, async (copy) => {
    const found = await endOf(copy);
    end = Math.max(end, found);
  });
  return end;
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const run = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
