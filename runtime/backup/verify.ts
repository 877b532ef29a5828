/**
 * Verify: restores a backup into a temporary folder, opens the store as a start would, and folds
 * every shard. A backup that was never restored counts as none.
 */
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { cellSubject, journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import { decodeCell } from '../cell-record.ts';
import { openEmbedded, type Ports } from '../embedded.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { loadRows } from '../shard/recovery/load.ts';
import { withScratchFolder } from './scratch-folder.ts';
import { type Restored, restoreBackup, type RestoreOptions } from './restore.ts';

export type FoldCounts = {
  readonly shards: number;
  readonly actors: number;
  /** messages that were accepted and have no turn yet */
  readonly pending: number;
};

export type Verified = Restored & FoldCounts & { readonly verifiedAt: number };

export type VerifyOptions = Pick<RestoreOptions, 'from' | 'openWith' | 'onProgress'> & {
  /** exists; needs room for the restored data */
  readonly temporary: string;
};

/** @throws as `restoreBackup`; TroupeError INTERNAL when a shard cannot be folded */
export async function verifyBackup(options: VerifyOptions): Promise<Verified> {
  const { temporary, onProgress, ...rest } = options;
  return withScratchFolder(temporary, async (scratch) => {
    const into = join(scratch, 'restored');
    const restored = await restoreBackup({ ...rest, into });
    onProgress?.('folding every shard');
    const ports = await openEmbedded({ path: join(into, 'store') });
    try {
      return { ...restored, ...(await foldAll(ports)), verifiedAt: Date.now() };
    } finally {
      await ports.store.close();
    }
  });
}

/** Loads each shard as its owner would. */
export async function foldAll({ store, blobs }: Ports, env = 'local'): Promise<FoldCounts> {
  const { log, state, cell } = store;
  const record = await log.readLast(cellSubject(env));
  if (!record) throw new TroupeError('INTERNAL', 'the backup holds no record of a cell');
  const { shards } = decodeCell<{ shards: number }>(record);
  let actors = 0;
  let pending = 0;
  for (let shard = 0; shard < shards; shard++) {
    const journal = journalSubject(env, shard);
    const { fold } = await loadRows({ log, state, blobs, cell, journal, shard });
    for (const { table } of state.dump(shard)) if (table === TABLE.actor) actors++;
    const { mailFloor, ctlFloor } = fold.scalars;
    pending += await above(log, mailboxSubject(env, shard, 'data'), mailFloor);
    pending += await above(log, mailboxSubject(env, shard, 'control'), ctlFloor);
  }
  return { shards, actors, pending };
}

async function above(log: Ports['store']['log'], subject: string, floor: number): Promise<number> {
  let count = 0;
  for (let next = floor + 1; ; ) {
    const page = await log.read(subject, next);
    if (page.length === 0) return count;
    count += page.length;
    next = page.at(-1)!.position + 1;
  }
}
