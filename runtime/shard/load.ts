/**
 * Load: from what is stored to the state of a shard (A2). The base is what the State port holds,
 * where the journal confirms it, else the latest snapshot, else nothing; every record that counts
 * after the base is folded on it, and the chain must be unbroken. Nothing is ever skipped: what
 * does not add up quarantines the shard with the reason CORRUPT.
 */
import { createHash } from 'node:crypto';
import { decode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Log, Position } from '../log/log.ts';
import type { Put, State } from '../state/state.ts';
import { Fold } from './fold.ts';
import { CorruptRecord, type JournalRecord, decodeRecord } from './records.ts';

export type LoadFrom = {
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly journal: string;
  readonly shard: number;
  readonly cell: string;
};

export type Loaded = {
  readonly fold: Fold;
  readonly last: Position;
  /** the log's own time of the last record, 0 if there is none */
  readonly logTimeMs: number;
  readonly snapshot: SnapshotMark | undefined;
  readonly voids: number;
};
export type SnapshotMark = {
  readonly covers: Position;
  readonly mailFloor: Position;
  readonly ctlFloor: Position;
};

type Stored = {
  readonly position: Position;
  readonly logTimeMs: number;
  readonly record: JournalRecord;
};
type Snapshot = Extract<JournalRecord, { t: 'SNAPSHOT' }>;

const ATTEMPTS_MAX = 5;

/** Somebody trimmed while we read: begin again. */
class Hole extends Error {}

/** @throws TroupeError INTERNAL with details.reason CORRUPT when the shard must be quarantined */
export async function loadShard(from: LoadFrom): Promise<Loaded> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await loadOnce(from);
    } catch (error) {
      if (error instanceof Hole && attempt < ATTEMPTS_MAX) continue;
      if (error instanceof Hole || error instanceof CorruptRecord) throw corrupt(from, error);
      throw error;
    }
  }
}

async function loadOnce(from: LoadFrom): Promise<Loaded> {
  const cached = await fromState(from);
  if (cached) return cached;
  const stored = await readJournal(from, 1);
  const counted = countedOf(stored);
  const base = await fromSnapshot(from, counted);
  const fold = base?.fold ?? Fold.empty(from.shard, from.state, !from.log.atomic, from.cell);
  const covers = base?.mark.covers ?? 0;
  const voids = foldTail(fold, stored, covers);
  const { position: last = 0, logTimeMs = 0 } = stored.at(-1) ?? {};
  return { fold, last, logTimeMs, snapshot: base?.mark, voids };
}

/** State written in the journal's own transaction, or a cache that the journal confirms (I6). */
async function fromState(from: LoadFrom): Promise<Loaded | undefined> {
  const fold = Fold.fromState(from.shard, from.state, !from.log.atomic);
  if (!fold) return undefined;
  const { cell, prev, recId } = fold.scalars;
  const tail = cell === from.cell ? await readJournal(from, prev + 1) : [];
  const at = tail.find((s) => s.record.recId === recId);
  if (at) {
    const voids = foldTail(fold, tail, at.position);
    const { position: last, logTimeMs } = tail.at(-1)!;
    return { fold, last, logTimeMs, snapshot: undefined, voids };
  }
  if (from.log.atomic)
    throw new CorruptRecord(
      `the state of shard ${from.shard} names a journal record that is not there`,
    );
  await from.state.clear(from.shard);
  return undefined;
}

async function readJournal({ log, journal }: LoadFrom, first: Position): Promise<Stored[]> {
  const stored: Stored[] = [];
  for (let next = first; ; ) {
    const entries = await log.read(journal, next, { limit: 1_000 });
    for (const { position, logTimeMs, bytes } of entries)
      stored.push({ position, logTimeMs, record: decodeRecord(bytes) });
    const last = entries.at(-1);
    if (!last) return stored;
    next = last.position + 1;
  }
}

/** Records that may count, for finding snapshots: each names the one stored before it (C4). */
function countedOf(stored: readonly Stored[]): Stored[] {
  return stored.filter(({ record }, i) => i === 0 || record.prev === stored[i - 1]!.position);
}

/** The latest snapshot whose blob is whole; a bad one falls back to the one before it (I2). */
async function fromSnapshot(
  from: LoadFrom,
  counted: readonly Stored[],
): Promise<{ fold: Fold; mark: SnapshotMark } | undefined> {
  const snapshots = counted.filter(
    (s): s is Stored & { record: Snapshot } => s.record.t === 'SNAPSHOT',
  );
  for (const { record } of snapshots.toReversed()) {
    const bytes = await from.blobs.get(record.blob);
    if (!bytes || bytes.length !== record.bytes || sha256(bytes) !== record.sha256) continue;
    const rows = decode<[table: string, key: string, value: Uint8Array][]>(bytes);
    await from.state.clear(from.shard);
    await from.state.write(
      rows.map(([table, key, value]): Put => ({ shard: from.shard, table, key, value })),
    );
    const fold = Fold.fromState(from.shard, from.state, !from.log.atomic);
    if (!fold) continue;
    const { mailFloor, ctlFloor } = fold.scalars;
    return { fold, mark: { covers: record.covers, mailFloor, ctlFloor } };
  }
  return undefined;
}

/**
 * Folds what counts after `covers`; answers how many stored records are void. @throws Hole,
 * CorruptRecord
 */
function foldTail(fold: Fold, stored: readonly Stored[], covers: Position): number {
  let before = covers;
  let voids = 0;
  for (const { position, record } of stored) {
    if (position <= covers) continue;
    if (record.cell !== fold.scalars.cell)
      throw new CorruptRecord(`journal record ${position} is of cell ${record.cell}`);
    if (record.prev > before)
      throw new Hole(`journal records ${before + 1} to ${record.prev} are missing`);
    if (record.prev < before) voids++;
    else fold.replay(record);
    before = position;
  }
  return voids;
}

export const sha256 = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

function corrupt(from: LoadFrom, cause: Error): TroupeError {
  return new TroupeError(
    'INTERNAL',
    `shard ${from.shard} is quarantined: ${cause.message} (${from.journal}). Nothing was skipped and nothing is lost that is still stored: restore the data folder from a backup, or keep it and report this`,
    { cause, details: { reason: 'CORRUPT', shard: from.shard } },
  );
}
