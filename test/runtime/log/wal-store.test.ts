/**
 * Disk failures that a test cannot cause on a real disk: torn and damaged frames, lost pages,
 * failed writes, syncs and commits.
 */
import { describe, expect, it } from 'vitest';
import { AppendUnknown } from '../../../runtime/log/log.ts';
import type { Durability, WalStore } from '../../../runtime/log/wal-store.ts';
import { entriesOf, nextFrame } from '../../../runtime/log/wal/frame.ts';
import { Random } from '../../../library/simulation/random.ts';
import { eventually } from '../eventually.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { bytes, newest, open, texts } from './store-on-disk.ts';

const never = new Promise<void>(() => {});

describe('an append whose frame cannot be written', () => {
  it.each(['short', 'complete, but reported as failed'] as const)(
    '(%s) is refused, and the next append gets its position',
    async (failure) => {
      const disk = new SimulatedDisk();
      const { log } = await open(disk);
      await log.append('s', bytes);
      disk.nextWrite = failure;
      const failed = [log.append('s', bytes, { expectedLast: 1 }), log.append('t', bytes)];
      for (const one of failed) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await log.last('s')).toBe(1);
      disk.kill();
      const again = await open(disk);
      expect(await texts(again.log)).toEqual(['entry']);
      expect(await again.log.last('t')).toBe(0);
      expect(await again.log.append('s', bytes, { expectedLast: 1 })).toMatchObject({
        position: 2,
      });
      expect(await again.log.append('t', bytes, { expectedLast: 0 })).toMatchObject({
        position: 1,
      });
    },
  );

  it('rejects a refused append of the same frame, because the refusal depended on it', async () => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk);
    disk.isFull = true;
    const [winner, loser] = [
      log.append('s', bytes, { expectedLast: 0 }),
      log.append('s', bytes, { expectedLast: 0 }),
    ];
    await expect(winner).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(loser).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    disk.isFull = false;
    expect(await log.append('s', bytes, { expectedLast: 0 })).toMatchObject({ position: 1 });
  });

  // After a restart its bytes could be read as a frame.
  it('ends the store when it cannot be undone', async () => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk);
    await log.append('s', bytes);
    disk.nextWrite = 'short';
    disk.canTruncate = false;
    await expect(log.append('s', bytes)).rejects.toBeInstanceOf(AppendUnknown);
    await expect(log.last('s')).rejects.toMatchObject({ details: { reason: 'STORE_BROKEN' } });
    await expect(log.append('t', bytes)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

it('an append is visible and answered only after its sync, at a durability that guarantees this', async () => {
  const disk = new SimulatedDisk();
  const { log } = await open(disk, { durability: 'power' });
  let goOn = () => {};
  disk.delay = () => new Promise((resolve) => (goOn = resolve));
  let answered = 0;
  const appends = ['a', 'b'].map(async (text) => {
    await log.append('s', Buffer.from(text), { expectedLast: answered });
    answered++;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([answered, await log.last('s'), newest(disk).bytes.length > 60]).toEqual([0, 0, true]);
  const later = log.append('s', Buffer.from('c'));
  disk.delay = async () => {};
  goOn();
  await Promise.all([appends[0], later]);
  expect(await texts(log)).toEqual(['a', 'c']);
});

it.each(['process', 'power'] as const)(
  'a failed sync ends a store of durability %s, because the kernel drops the pages that it could not write',
  async (durability) => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk, { durability, isLazy: false });
    disk.canSync = false;
    const append = log.append('s', bytes);
    if (durability === 'power') await expect(append).rejects.toBeInstanceOf(AppendUnknown);
    else await append;
    await eventually(() =>
      expect(log.last('s')).rejects.toMatchObject({ details: { reason: 'STORE_BROKEN' } }),
    );
  },
);

describe('a checkpoint that fails', () => {
  it('is repeated; until then everything is read from memory', async () => {
    const disk = new SimulatedDisk();
    const alarms: string[] = [];
    const { log, state, close } = await open(disk, {
      isLazy: false,
      onAlarm: (what) => alarms.push(what),
    });
    disk.tables.canCommit = false;
    for (const text of ['a', 'b', 'c']) await log.append('s', Buffer.from(text));
    await state.write([{ shard: 0, table: 't', key: 'k', value: bytes }]);
    await eventually(() => expect(alarms).toHaveLength(1));
    expect(await texts(log)).toEqual(['a', 'b', 'c']);
    expect(state.get(0, 't', 'k')).toBeDefined();
    disk.tables.canCommit = true;
    await eventually(() => expect(alarms).toHaveLength(2));
    await close();
    const again = await open(disk);
    expect(await texts(again.log)).toEqual(['a', 'b', 'c']);
    expect(again.state.get(0, 't', 'k')).toBeDefined();
  });

  it('removes no segment', async () => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk, { isLazy: false });
    disk.tables.canCommit = false;
    const big = Buffer.alloc(5 * 2 ** 20, 1);
    for (let i = 0; i < 4; i++) await log.append('s', big);
    expect(disk.segments.size).toBeGreaterThan(1);
    disk.kill();
    expect(await (await open(disk)).log.last('s')).toBe(4);
  });
});

it('a segment that cannot be removed ends the store, whose checkpoint counts', async () => {
  const disk = new SimulatedDisk();
  const first = await open(disk);
  await first.log.append('s', Buffer.from('a'));
  disk.canRemove = false;
  await expect(first.scrub()).rejects.toMatchObject({ details: { reason: 'STORE_BROKEN' } });
  expect((await first.failed).message).toContain('unlink');
  expect([disk.tables.commits.length, disk.segments.size]).toEqual([1, 2]);
  disk.kill();
  expect(await texts((await open(disk)).log)).toEqual(['a']);
});

it('a power loss during a commit leaves the rows before or after it, and every entry', async () => {
  const ends = new Set<number>();
  for (let seed = 1; seed <= 20; seed++) {
    const disk = new SimulatedDisk();
    const { log, state, scrub } = await open(disk);
    await log.append('s', Buffer.from('a'));
    await state.write([{ shard: 0, table: 't', key: 'k', value: bytes }]);
    // A sync, the pages of the commit, and its header, which is never answered.
    disk.delay = () => (disk.tables.commits.length === 0 ? Promise.resolve() : never);
    void scrub();
    await eventually(() => expect(disk.tables.commits).toHaveLength(1));
    expect([state.count(0, 't'), disk.segments.size]).toEqual([1, 2]);
    disk.loseSuffix(new Random(seed));
    disk.delay = async () => {};
    const again = await open(disk);
    expect(await texts(again.log)).toEqual(['a']);
    ends.add(again.state.count(0, 't'));
  }
  expect(ends).toEqual(new Set([0, 1]));
});

it('refuses appends beyond its bound at once, and accepts them again when there is room', async () => {
  const disk = new SimulatedDisk();
  const { log } = await open(disk);
  disk.tables.canCommit = false;
  const big = Buffer.alloc(100 * 2 ** 20, 1);
  await log.append('s', big);
  await log.append('s', big);
  await expect(log.append('s', big)).rejects.toMatchObject({ details: { reason: 'OVERLOADED' } });
  disk.tables.canCommit = true;
  await eventually(() => log.append('s', big), 10_000);
});

it('stores all appends of one turn of the event loop in one frame', async () => {
  const disk = new SimulatedDisk();
  const { log } = await open(disk);
  await Promise.all(Array.from({ length: 50 }, () => log.append('s', bytes)));
  const first = nextFrame(newest(disk).bytes, 0)!;
  expect([...entriesOf(first)]).toHaveLength(50);
});

describe('a log after the death of its process', () => {
  it('ends with its last complete frame, wherever the last write was cut', async () => {
    const whole = new SimulatedDisk();
    const { log } = await open(whole);
    for (const text of ['a', 'b']) await log.append('s', Buffer.from(text));
    const end = newest(whole).bytes.length;
    await log.append('s', Buffer.from('the last one'));
    const { bytes: all } = newest(whole);
    for (let cut = end; cut <= all.length; cut++) {
      const disk = new SimulatedDisk();
      for (const [name, segment] of whole.segments) disk.segments.set(name, { ...segment });
      newest(disk).bytes = all.subarray(0, cut);
      const { log: again } = await open(disk);
      const wanted = cut === all.length ? ['a', 'b', 'the last one'] : ['a', 'b'];
      expect(await texts(again)).toEqual(wanted);
      await again.append('s', Buffer.from('next'));
      disk.kill();
      expect(await texts((await open(disk)).log)).toEqual([...wanted, 'next']);
    }
  });

  it('is refused when a frame is damaged that a later one names as synced, at any byte', async () => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk, { isLazy: false });
    await log.append('s', Buffer.from('synced'));
    disk.tables.canCommit = false;
    await eventually(() => expect(newest(disk).synced.length).toBe(newest(disk).bytes.length));
    const end = newest(disk).bytes.length;
    await log.append('s', Buffer.from('later'));
    disk.kill();
    const good = Buffer.from(newest(disk).bytes);
    for (let at = 40; at < end; at++) {
      newest(disk).bytes = Buffer.from(good);
      newest(disk).bytes[at]! ^= 0x10;
      await expect(open(disk)).rejects.toMatchObject({
        code: 'INTERNAL',
        details: { reason: 'CORRUPT' },
      });
    }
    newest(disk).bytes = good;
    expect(await texts((await open(disk)).log)).toEqual(['synced', 'later']);
  });

  it('is truncated, with an alarm, where frames that were never synced are missing', async () => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk);
    for (const text of ['a', 'b']) await log.append('s', Buffer.from(text));
    const end = newest(disk).bytes.length;
    await log.append('s', Buffer.from('c'));
    disk.kill();
    newest(disk).bytes[end - 1]! ^= 1;
    const alarms: string[] = [];
    const again = await open(disk, { onAlarm: (what) => alarms.push(what) });
    expect(await texts(again.log)).toEqual(['a']);
    expect(alarms).toEqual([expect.stringMatching(/1 frames from number 2/)]);
    expect(await again.log.append('s', bytes)).toMatchObject({ position: 2 });
  });

  it.each([
    ['of another cell', (segment: Buffer) => segment.fill(7, 8, 24), 'CORRUPT'],
    ['with a damaged header', (segment: Buffer) => segment.fill(7, 24, 26), 'CORRUPT'],
  ])('is refused when it has a segment %s', async (_, damage, reason) => {
    const disk = new SimulatedDisk();
    const { log } = await open(disk);
    await log.append('s', bytes);
    disk.kill();
    const { log: next } = await open(disk);
    await next.append('s', bytes);
    disk.kill();
    const first = disk.segments.get([...disk.segments.keys()].sort()[0]!)!;
    first.bytes = Buffer.from(damage(Buffer.from(first.bytes)));
    await expect(open(disk)).rejects.toMatchObject({ details: { reason } });
  });

  it('opens when a segment is damaged that a checkpoint contains', async () => {
    const disk = new SimulatedDisk();
    const first = await open(disk);
    await first.log.append('s', Buffer.from('a'));
    await first.close();
    const damaged = newest(disk);
    const { log } = await open(disk);
    await log.append('s', Buffer.from('b'));
    disk.kill();
    damaged.bytes = Buffer.from(damaged.bytes).fill(7, 10);
    expect(await texts((await open(disk)).log)).toEqual(['a', 'b']);
  });

  it('is refused when segments are missing that no checkpoint contains', async () => {
    const disk = new SimulatedDisk();
    for (let i = 0; i < 3; i++) {
      const { log } = await open(disk);
      await log.append('s', bytes);
      disk.kill();
    }
    const [first, second] = [...disk.segments.keys()].sort();
    for (const name of [first!, second!]) {
      const segment = disk.segments.get(name)!;
      disk.segments.delete(name);
      await expect(open(disk)).rejects.toMatchObject({ details: { reason: 'CORRUPT' } });
      disk.segments.set(name, segment);
    }
  });
});

describe('over many deaths of process and machine', () => {
  const rounds = 12;
  it.each(['process', 'power'] as const)(
    'a store of durability %s keeps its guaranteed appends in order, and no partial one',
    async (durability) => {
      let kept = 0;
      for (let seed = 1; seed <= 25; seed++) kept += await account(seed, durability, rounds);
      expect(kept).toBeGreaterThan(25);
    },
    120_000,
  );
});

/**
 * Appends numbers, each with a mailbox entry in the same frame and a row after it, kills, and
 * compares the stored with the acknowledged appends. Returns how many appends had to survive the
 * last kill.
 */
async function account(seed: number, durability: Durability, rounds: number): Promise<number> {
  const random = new Random(seed);
  const disk = new SimulatedDisk();
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, random.whole(0, 2)));
  disk.delay = pause;
  /** the data that every later start must find */
  let kept = 0;
  for (let round = 0; round < rounds; round++) {
    const { log, state } = await open(disk, { durability, isLazy: false });
    const last = await log.last('journal');
    const numbers = await texts(log, 'journal');
    expect(last, `seed ${seed}, round ${round}`).toBeGreaterThanOrEqual(kept);
    expect(numbers).toEqual(Array.from({ length: last }, (_, i) => `${i + 1}`));
    expect(await texts(log, 'mail')).toEqual(numbers);
    const row = Number(Buffer.from(state.get(0, 'meta', 'n') ?? []).toString());
    expect(row).toBeLessThanOrEqual(last);
    expect(state.count(0, 'row')).toBe(row);
    for (let n = row + 1; n <= last; n++) await writeRow(state, n);
    let answered = last;
    const work = (async () => {
      for (let n = last + 1; ; n++) {
        const entries = [{ subject: 'mail', bytes: Buffer.from(`${n}`) }];
        const options = { expectedLast: n - 1, alongside: { entries } };
        await log.append('journal', Buffer.from(`${n}`), options);
        answered = n;
        await writeRow(state, n);
        if (random.chance(0.2)) await pause();
      }
    })().catch(() => {});
    for (let i = random.whole(0, 12); i > 0; i--) await pause();
    if (random.chance(0.5)) {
      disk.kill(random);
      kept = answered;
    } else {
      disk.loseSuffix(random);
      // The start has synced the data of earlier processes.
      kept = durability === 'power' ? answered : last;
    }
    await work;
  }
  return kept;
}

const writeRow = (state: WalStore['state'], n: number): Promise<void> =>
  state.write([
    { shard: 0, table: 'meta', key: 'n', value: Buffer.from(`${n}`) },
    { shard: 0, table: 'row', key: `${n}`, value: bytes },
  ]);
