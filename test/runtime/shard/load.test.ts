/**
 * Loading a shard's state from the store: the chain rule, snapshots, caches, and damage (A2, C4,
 * T2).
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { journalSubject } from '../../../protocols/subjects.ts';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import { catchUp, loadShard } from '../../../runtime/shard/recovery/load.ts';
import { encodeRecord, type JournalRecord } from '../../../runtime/shard/commit/records.ts';
import { collectRows, writeSnapshot } from '../../../runtime/shard/recovery/snapshot.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { State } from '../../../runtime/state/state.ts';
import { Random } from '../../../library/simulation/random.ts';
import { SimBlobs } from '../../sim/sim-blobs.ts';
import { settled, VirtualClock } from '../../../library/simulation/virtual-clock.ts';

const JOURNAL = journalSubject('test', 0);
const CELL = 'cell';

let clock: VirtualClock;
let log: MemoryLog;
let state: MemoryState;
let blobs: SimBlobs;

beforeEach(() => {
  clock = new VirtualClock();
  log = new MemoryLog(clock, false);
  state = new MemoryState();
  blobs = new SimBlobs(clock, new Random(1));
});

/** Waits for work that needs virtual time. */
const inTime = async <T>(work: Promise<T>): Promise<T> => {
  let over = false;
  const done = work.finally(() => (over = true));
  done.catch(() => {});
  while (!over) {
    await settled();
    await clock.run(clock.monotonicMs() + 1, () => over);
  }
  return done;
};

const load = (from: { log?: MemoryLog; state?: State } = {}) =>
  inTime(loadShard({ log, state, blobs, journal: JOURNAL, shard: 0, cell: CELL, ...from }));

type Body = JournalRecord extends infer R
  ? R extends JournalRecord
    ? Omit<R, 'cell' | 'recId' | 'epoch' | 'prev' | 'now'>
    : never
  : never;

/** Appends a record that names its predecessor, unless the test names another one. */
const write = (body: Body, head: { prev?: number; cell?: string } = {}, to = log): number => {
  const prev = lasts.get(to) ?? 0;
  const recId = `r${prev + 1}`;
  const record = {
    cell: CELL,
    recId,
    epoch: 1,
    prev,
    now: prev,
    ...body,
    ...head,
  } as JournalRecord;
  const answer = to.appendNow(JOURNAL, encodeRecord(record));
  if (answer.kind !== 'stored') throw new Error('refused');
  lasts.set(to, answer.position);
  return answer.position;
};
const lasts = new WeakMap<MemoryLog, number>();

/** A record with one turn that sets `row` to a text. */
const turn = (text: string): Body => ({
  t: 'TURNS',
  mailFloor: 0,
  ctlFloor: 0,
  keyNow: 0,
  puts: [['row', 'row', Buffer.from(text)]],
  turns: [],
  linkIn: [],
  outFloor: [],
});

const epoch: Body = { t: 'EPOCH', worker: 'w' };
const rowOf = ({ fold }: Awaited<ReturnType<typeof load>>) =>
  fold.get('row', 'row') && Buffer.from(fold.get('row', 'row')!).toString();

/** A snapshot of the log up to this position: its blob and its record. */
const snapshot = async (): Promise<string> => {
  const covers = lasts.get(log)!;
  const scratch = new MemoryState();
  await catchUp(await load({ state: scratch }), scratch);
  const rows = await collectRows(scratch, 0);
  const blob = await inTime(writeSnapshot(blobs, `snap/cell/0/${covers}-1`, rows, covers));
  write({ t: 'SNAPSHOT', ...blob });
  return blob.blob;
};

describe('a shard is loaded', () => {
  it('as an empty shard when nothing is stored', async () => {
    const loaded = await load();
    expect(loaded).toMatchObject({ last: 0, voids: 0, records: 0, bytes: 0 });
    expect(loaded.fold.scalars).toMatchObject({ cell: CELL, turnNo: 0 });
  });

  it('from its records only', async () => {
    for (const body of [epoch, turn('a'), turn('b')]) write(body);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('b');
    expect(loaded).toMatchObject({ last: 3, logTimeMs: clock.wallMs() });
  });

  it('without the records that passed a leaky fence, and reports their number (C4)', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    write(turn('void'), { prev: 1 });
    write(turn('b'));
    const loaded = await load();
    expect(rowOf(loaded)).toBe('b');
    expect(loaded.voids).toBe(1);
  });

  it('from its last snapshot and the later records, when earlier ones are trimmed', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await snapshot();
    write(turn('b'));
    await log.trim(JOURNAL, 2);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('b');
    expect(loaded).toMatchObject({ records: 2, unreadable: [] });
  });

  it('from the previous snapshot, when the blob of the last one is damaged', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await snapshot();
    write(turn('b'));
    const last = await snapshot();
    await log.trim(JOURNAL, 2);
    blobs.rot(last);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('b');
    expect(loaded).toMatchObject({ records: 3, unreadable: [`snapshot ${last} is damaged`] });
  });

  it('from the previous snapshot, when the blob of the last one is missing', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await snapshot();
    write(turn('b'));
    await blobs.delete(await snapshot());
    await log.trim(JOURNAL, 2);
    expect(rowOf(await load())).toBe('b');
  });
});

describe('a cache of rows', () => {
  const cache = async () => {
    const { fold } = await load({ state: new MemoryState() });
    await catchUp({ fold }, state);
  };

  it('is the base if the journal confirms it, and later records are folded on it', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await cache();
    write({ ...turn('b'), puts: [['other', 'row', Buffer.from('b')]] } as Body);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('a');
    expect(Buffer.from(loaded.fold.get('other', 'row')!).toString()).toBe('b');
    expect(loaded.records).toBe(1);
  });

  it('of another history is discarded', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    const { fold } = await load({ state: new MemoryState() });
    fold.scalars.recId = 'a record that never counted';
    await catchUp({ fold }, state);
    await state.write([{ shard: 0, table: 'left', key: 'over', value: Buffer.from('x') }]);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('a');
    expect(loaded.fold.get('left', 'over')).toBeUndefined();
  });

  it('of another cell is discarded', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    const { fold } = await load({ state: new MemoryState() });
    fold.scalars.cell = 'another';
    await catchUp({ fold }, state);
    await state.write([{ shard: 0, table: 'left', key: 'over', value: Buffer.from('x') }]);
    expect((await load()).fold.get('left', 'over')).toBeUndefined();
  });

  // A process was killed while it copied the rows of a snapshot; the head is written last.
  it('without a head is discarded', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await state.write([{ shard: 0, table: 'left', key: 'over', value: Buffer.from('x') }]);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('a');
    expect(loaded.fold.get('left', 'over')).toBeUndefined();
  });

  it('is folded again from a snapshot when records after it are missing', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await cache();
    write(turn('b'));
    await snapshot();
    const read = log.read.bind(log);
    log.read = async (...asked) => (await read(...asked)).filter(({ position }) => position !== 3);
    expect(rowOf(await load())).toBe('b');
  });

  it('of a long journal is written in between, and equals the fold of its last record', async () => {
    write(epoch);
    for (let i = 0; i < 40; i++) write(turn(`${i}`.padStart(40_000, '.')));
    const loaded = await load();
    expect(loaded).toMatchObject({ records: 41, last: 41 });
    expect(loaded.bytes).toBeGreaterThan(40 * 40_000);
    expect(state.count(0, 'row')).toBe(1);
    await catchUp(loaded, state);
    expect(await load()).toMatchObject({ records: 0, last: 41 });
  });

  it('from before the trimmed records is discarded', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    await cache();
    await state.write([{ shard: 0, table: 'left', key: 'over', value: Buffer.from('x') }]);
    write(turn('b'));
    await snapshot();
    await log.trim(JOURNAL, 3);
    const loaded = await load();
    expect(rowOf(loaded)).toBe('b');
    expect(loaded.fold.get('left', 'over')).toBeUndefined();
  });
});

describe('a shard is quarantined with CORRUPT', () => {
  const corrupt = { code: 'INTERNAL', details: { reason: 'CORRUPT', shard: 0 } };

  it('when a record is missing', async () => {
    for (const body of [epoch, turn('a'), turn('b')]) write(body);
    await log.trim(JOURNAL, 2);
    await expect(load()).rejects.toMatchObject(corrupt);
  });

  it('when both snapshots are damaged', async () => {
    for (const body of [epoch, turn('a')]) write(body);
    const first = await snapshot();
    write(turn('b'));
    const second = await snapshot();
    await log.trim(JOURNAL, 2);
    for (const blob of [first, second]) blobs.rot(blob);
    await expect(load()).rejects.toMatchObject(corrupt);
  });

  it('when a record does not decode', async () => {
    write(epoch);
    log.appendNow(JOURNAL, Buffer.from('no record'));
    await expect(load()).rejects.toMatchObject(corrupt);
  });

  it('when a record is of another cell', async () => {
    write(epoch);
    write(turn('a'), { cell: 'another' });
    await expect(load()).rejects.toMatchObject(corrupt);
  });

  it('when an atomic log does not have the record that its rows name', async () => {
    const atomic = new MemoryLog(clock, true);
    for (const body of [epoch, turn('a')]) write(body, {}, atomic);
    const { fold } = await load({ log: atomic });
    fold.scalars.recId = 'another';
    await catchUp({ fold }, state);
    await expect(load({ log: atomic })).rejects.toMatchObject(corrupt);
  });
});
