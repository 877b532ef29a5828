/**
 * Load: derives the state of a shard from stored data (A2). The base is the State port if the
 * journal confirms it, else the latest snapshot, else nothing. All later records that count are
 * folded onto it; their chain must be unbroken. Nothing is skipped: an inconsistency quarantines
 * the shard with the reason CORRUPT.
 *
 * Rows are written in slices, each with its position, so State is a valid fold at every moment and
 * loading a large shard does not block the event loop. Where the log is not atomic, State is only a
 * cache (T6): a damaged one is cleared and folded again.
 */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { type Log, type Position, READ_BYTES_DEFAULT } from '../../log/log.ts';
import type { Put, State } from '../../state/state.ts';
import { isDamagedRow } from '../../state/checked-reads.ts';
import { Fold } from '../commit/fold.ts';
import { CorruptRecord } from '../commit/record-format.ts';
import { type JournalRecord, decodeRecord } from '../commit/records.ts';
import { isKnownLayout, restoreRows, sha256InTurns } from './snapshot.ts';

export type LoadFrom = {
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly journal: string;
  readonly shard: number;
  readonly cell: string;
  /** false: another owner may load into this State now, so nothing more is written; default true */
  readonly isWanted?: () => boolean;
  /** lets other work of the process run, between two slices; default until the next event */
  readonly pause?: () => Promise<void>;
};

export type Loaded = {
  readonly fold: Fold;
  readonly last: Position;
  /** id of the last record, '' if there is none */
  readonly lastId: string;
  /** the log's own time of the last record, 0 if there is none */
  readonly logTimeMs: number;
  readonly voids: number;
  /** folded on the base: how many, and the bytes of them */
  readonly records: number;
  readonly bytes: number;
  /** snapshots that should have been the base and could not be read, and why */
  readonly unreadable: readonly string[];
};

type Stored = {
  readonly position: Position;
  readonly logTimeMs: number;
  readonly bytes: number;
  readonly record: JournalRecord;
};
type Snapshot = Extract<JournalRecord, { t: 'SNAPSHOT' }>;
type Base = { readonly fold: Fold; readonly covers: Position };
type Tail = Pick<Loaded, 'voids' | 'records' | 'bytes'>;

const ATTEMPTS_MAX = 5;
const READ_ENTRIES = 1_000;
/** Journal that is decoded, or folded and written to State, in one turn of the event loop. */
const SLICE_BYTES = 512 * 1024;

/** The journal was trimmed during the read: the load starts again. */
class Hole extends Error {}

/**
 * @throws TroupeError INTERNAL with details.reason CORRUPT or NEWER_FORMAT when the shard must be
 * quarantined; UNAVAILABLE when a port does not answer, or `isWanted` returns false
 */
export async function loadShard(from: LoadFrom): Promise<Loaded> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await loadOnce(from);
    } catch (error) {
      const again = error instanceof Hole || (!from.log.atomic && isDamagedRow(error));
      if (again && attempt < ATTEMPTS_MAX) await discard(from);
      else if (error instanceof Hole || error instanceof CorruptRecord) throw corrupt(from, error);
      else throw error;
    }
  }
}

/**
 * Writes what was folded since to State, whole or not at all: State is then the fold at the last
 * record that was replayed. After an error the fold is of no use.
 */
export async function catchUp({ fold }: Pick<Loaded, 'fold'>, state: State): Promise<void> {
  const { record, puts } = fold.seal();
  await state.write(puts);
  fold.settle(record, puts);
}

/**
 * Loads a shard whose rows are to be read from State, without owning it: after a crash they are
 * those of the last checkpoint, and the rest of the journal is folded onto them.
 * @throws as `loadShard`
 */
export async function loadRows(from: LoadFrom): Promise<Loaded> {
  const loaded = await loadShard(from);
  if (loaded.records > 0) await catchUp(loaded, from.state);
  return loaded;
}

async function loadOnce(from: LoadFrom): Promise<Loaded> {
  const cached = await fromState(from);
  if (cached) return cached;
  await discard(from);
  const stored = await readJournal(from, 1);
  const unreadable: string[] = [];
  const counted = notVoid(stored);
  const base = (await fromSnapshot(from, counted, unreadable)) ?? fromNothing(from, counted);
  const tail = await foldTail(from, base, stored, unreadable);
  return loaded(base.fold, stored, tail, unreadable);
}

/** Rows of a checkpoint that the journal confirms (T6). */
async function fromState(from: LoadFrom): Promise<Loaded | undefined> {
  const fold = Fold.fromState(from.shard, from.state, !from.log.atomic);
  if (!fold) return undefined;
  const { cell, prev, recId } = fold.scalars;
  const stored = cell === from.cell ? await readJournal(from, prev + 1) : [];
  const at = stored.find((s) => s.record.recId === recId);
  if (at) {
    const tail = await foldTail(from, { fold, covers: at.position }, stored, []);
    return loaded(fold, stored, tail, []);
  }
  if (from.log.atomic)
    throw new CorruptRecord(
      `the state of shard ${from.shard} names a journal record that is not there`,
    );
  return undefined;
}

const loaded = (
  fold: Fold,
  stored: readonly Stored[],
  tail: Tail,
  unreadable: readonly string[],
): Loaded => {
  const { position: last = 0, logTimeMs = 0, record } = stored.at(-1) ?? {};
  return { fold, last, lastId: record?.recId ?? '', logTimeMs, ...tail, unreadable };
};

async function readJournal(from: LoadFrom, first: Position): Promise<Stored[]> {
  const { log, journal, pause = letOthersRun } = from;
  const stored: Stored[] = [];
  let slice = 0;
  for (let next = first; ; ) {
    const entries = await log.read(journal, next, { limit: READ_ENTRIES });
    let read = 0;
    for (const { position, logTimeMs, bytes } of entries) {
      stored.push({
        position,
        logTimeMs,
        bytes: bytes.length,
        record: decodeRecord(bytes, position),
      });
      read += bytes.length;
      slice += bytes.length;
      if (slice < SLICE_BYTES) continue;
      slice = 0;
      await pause();
    }
    const last = entries.at(-1);
    // A record that came meanwhile is refused by the EPOCH record's expectation, or followed.
    if (!last || (entries.length < READ_ENTRIES && read < READ_BYTES_DEFAULT)) return stored;
    next = last.position + 1;
  }
}

/**
 * Records that are not void, for finding snapshots (C4). What is missing before one does not matter
 * here: the chain after what it covers is what must be unbroken.
 */
function notVoid(stored: readonly Stored[]): Stored[] {
  return stored.filter(({ record }, i) => i === 0 || record.prev >= stored[i - 1]!.position);
}

/** @throws CorruptRecord for an imported shard, whose journal does not contain its beginning */
function fromNothing(from: LoadFrom, stored: readonly Stored[]): Base {
  for (const { record } of stored) {
    if (record.t === 'SNAPSHOT' && record.covers === 0)
      throw new CorruptRecord(`${record.blob}, which the shard was imported as, is not readable`);
  }
  return { fold: Fold.empty(from.shard, from.state, !from.log.atomic, from.cell), covers: 0 };
}

/** The latest snapshot whose blob is whole; a bad one falls back to the one before it (T2). */
async function fromSnapshot(
  from: LoadFrom,
  stored: readonly Stored[],
  unreadable: string[],
): Promise<Base | undefined> {
  const snapshots = stored.flatMap(({ record }) => (record.t === 'SNAPSHOT' ? [record] : []));
  for (const record of snapshots.toReversed()) {
    const bytes = await readBlob(from, record);
    if (typeof bytes === 'string') {
      unreadable.push(`snapshot ${record.blob} is ${bytes}`);
      continue;
    }
    await restoreRows(from.shard, bytes, (puts) => write(from, puts), from.pause);
    const fold = Fold.fromState(from.shard, from.state, !from.log.atomic);
    if (!fold) throw new CorruptRecord(`snapshot ${record.blob} has no head`);
    return { fold, covers: record.covers };
  }
  return undefined;
}

/** The blob, if it is the one that was written, or what is wrong with it. */
async function readBlob(from: LoadFrom, record: Snapshot): Promise<Uint8Array | string> {
  try {
    const bytes = await from.blobs.get(record.blob);
    if (!bytes) return 'missing';
    if (bytes.length !== record.bytes) return `${bytes.length} bytes, not ${record.bytes}`;
    if ((await sha256InTurns(bytes)) !== record.sha256) return 'damaged';
    return isKnownLayout(bytes) ? bytes : 'of a layout that a newer program wrote';
  } catch (error) {
    if (error instanceof TroupeError && error.details?.['reason'] === 'CORRUPT')
      return `damaged: ${error.message}`;
    throw error;
  }
}

/** Folds what counts after the base. @throws Hole, CorruptRecord */
async function foldTail(
  from: LoadFrom,
  { fold, covers }: Base,
  stored: readonly Stored[],
  unreadable: readonly string[],
): Promise<Tail> {
  let before = covers;
  let voids = 0;
  let records = 0;
  let foldedBytes = 0;
  let slice = 0;
  for (const { position, record, bytes } of stored) {
    if (position <= covers) continue;
    if (record.cell !== from.cell)
      throw new CorruptRecord(`journal record ${position} is of cell ${record.cell}`);
    if (record.prev > before)
      throw new Hole(
        [...unreadable, `journal records ${before + 1} to ${record.prev} are missing`].join(', '),
      );
    if (record.prev < before) voids++;
    else {
      fold.replay(record, bytes);
      records++;
      foldedBytes += bytes;
      slice += bytes;
    }
    before = position;
    if (slice < SLICE_BYTES) continue;
    slice = 0;
    assertWanted(from);
    await catchUp({ fold }, from.state);
    await (from.pause ?? letOthersRun)();
  }
  return { voids, records, bytes: foldedBytes };
}

async function write(from: LoadFrom, puts: readonly Put[]): Promise<void> {
  assertWanted(from);
  await from.state.write(puts);
}

/** Rows that are no base. Those of an atomic log are never thrown away. */
async function discard(from: LoadFrom): Promise<void> {
  if (from.log.atomic) return;
  assertWanted(from);
  await from.state.clear(from.shard);
}

function assertWanted({ isWanted, shard }: LoadFrom): void {
  if (isWanted && !isWanted())
    throw new TroupeError('UNAVAILABLE', `the load of shard ${shard} was given up`);
}

function corrupt(from: LoadFrom, cause: Error): TroupeError {
  return new TroupeError(
    'INTERNAL',
    `shard ${from.shard} is quarantined: ${cause.message} (${from.journal}). Nothing was skipped and nothing is lost that is still stored: restore the data folder from a backup, or keep it and report this`,
    { cause, details: { reason: 'CORRUPT', shard: from.shard } },
  );
}
