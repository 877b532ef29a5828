/**
 * Snapshots of a shard whose log is not atomic: when they are created, and what they trim (I).
 */
import { expect, it } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { coversOf, isSuperseded } from '../../../runtime/shard/recovery/snapshot.ts';
import { eventually } from '../eventually.ts';
import { JOURNAL, openClusterShard, SNAPSHOTS } from './cluster-shard.ts';

it('after three snapshots two blobs remain, and the journal begins behind the first of them', async () => {
  const shard = await openClusterShard({ snapshotEvery: 10 });
  await shard.blobs.put(`${SNAPSHOTS}1-1`, Buffer.from('of an owner that died before its record'));
  await shard.blobs.put(`${SNAPSHOTS}100000-7`, Buffer.from('newer than ours: not ours to delete'));
  await shard.take('w1');
  const seen = new Map<string, number>();
  await eventually(async () => {
    await shard.ask('a');
    for (const { blob, covers } of await shard.snapshots()) seen.set(blob, covers);
    expect(seen.size).toBe(3);
  });
  const [first, second, third] = [...seen.keys()];
  await eventually(async () =>
    expect(await shard.blobs.list(SNAPSHOTS)).toEqual(
      [`${SNAPSHOTS}100000-7`, second, third].sort(),
    ),
  );
  expect(await shard.blobs.get(first!)).toBeUndefined();
  await eventually(async () =>
    expect((await shard.log.read(JOURNAL, 1))[0]!.position).toBe(seen.get(second!)! + 1),
  );
});

it('a shard whose owner changes more often than a snapshot is due still gets its snapshots', async () => {
  const shard = await openClusterShard({ snapshotEvery: 41 });
  for (let i = 0; i < 8; i++) {
    await shard.take(`w${i % 3}`);
    await shard.askTimes(3);
    await shard.leave();
  }
  expect(await shard.snapshots()).toEqual([]);
  await shard.take('new');
  expect(await shard.ask('a')).toBe(25);
  await eventually(async () => expect(await shard.snapshots()).not.toEqual([]));
});

it('the next snapshot of a large shard is due when the journal is half as large as the last one', async () => {
  const shard = await openClusterShard({ snapshotEvery: 10 });
  await shard.take('w1');
  await shard.ask('busy', { type: 'do', ms: 1_000_000 });
  const padding = 'x'.repeat(30_000);
  /** Each waits in the stash: its record contains the padding, as its row does. */
  const addTo = async (stashed: number) => {
    for (let n = shard.cache.count(0, 'stash'); n < stashed; n++)
      void shard.ask('busy', { type: 'soft', padding }).catch(() => {});
    await eventually(() => expect(shard.cache.count(0, 'stash')).toBe(stashed));
  };
  await addTo(8);
  // On request: one that is made by itself begins at any of the eight.
  await shard.owner.trimmedAll();
  const made = await shard.snapshots();
  expect(made.at(-1)!.bytes).toBeGreaterThan(8 * 30_000);
  await shard.askTimes(50);
  expect(shard.owner.status()).not.toHaveProperty('snapshotDueMs');
  expect(await shard.snapshots()).toEqual(made);
  await addTo(13);
  await eventually(async () => {
    await shard.ask('a');
    expect((await shard.snapshots()).length).toBeGreaterThan(made.length);
  });
});

it('a failed snapshot is reported, retried, and stops no other work', async () => {
  const shard = await openClusterShard({ snapshotEvery: 10 });
  let isFull = true;
  const put: Blobs['put'] = async (name, bytes) => {
    if (isFull) throw new TroupeError('UNAVAILABLE', 'the blob store is full');
    await shard.blobs.put(name, bytes);
  };
  const { blobs } = shard;
  const failing: Blobs = {
    put,
    get: (name) => blobs.get(name),
    delete: (name) => blobs.delete(name),
    list: (prefix) => blobs.list(prefix),
  };
  await shard.take('w1', { blobs: failing, clock: systemClock });
  await shard.askTimes(40);
  expect(shard.alarms.length).toBeGreaterThan(1);
  expect(shard.alarms.length).toBeLessThan(30);
  expect(new Set(shard.alarms)).toEqual(
    new Set(['shard 0: snapshot failed: the blob store is full']),
  );
  isFull = false;
  await eventually(async () => {
    await shard.ask('a');
    expect(await shard.snapshots()).not.toEqual([]);
  });
});

it.each([2, 3])(
  'after %i deaths of its owner, a quiet shard is trimmed on request',
  async (deaths) => {
    const shard = await openClusterShard();
    for (let n = 0; n < deaths; n++) {
      await shard.take(`w${n}`);
      await shard.ask('a');
      await shard.leave('dies');
    }
    await shard.take('last');
    await shard.ask('a');
    await shard.owner.trimmedAll();
    const [snapshot] = await shard.snapshots();
    expect((await shard.log.read(JOURNAL, 1))[0]!.position).toBe(snapshot!.covers + 1);
  },
);

it('a name that is not that of a snapshot covers nothing', () => {
  expect(coversOf('snap/cell/0/12-3')).toBe(12);
  expect(coversOf('snap/cell/0/other')).toBeNaN();
});

it('what was begun before, or by an owner before, is of no use any more', () => {
  expect(isSuperseded('snap/cell/0/12-3', 12, 3)).toBe(false);
  expect(isSuperseded('snap/cell/0/12-3', 13, 3)).toBe(true);
  expect(isSuperseded('snap/cell/0/12-3', 12, 4)).toBe(true);
  expect(isSuperseded('snap/cell/0/12-9', 12, 4)).toBe(false);
  expect(isSuperseded('snap/cell/0/other', 12, 4)).toBe(false);
});
