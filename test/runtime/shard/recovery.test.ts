/**
 * Damaged, missing or old data when a process takes over a shard, with real owners (A2, T2, T6).
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import type { ReadOptions } from '../../../runtime/log/log.ts';
import type { TableRow } from '../../../runtime/state/state.ts';
import { eventually } from '../eventually.ts';
import { flipRow } from '../system/damage.ts';
import { type ClusterShard, JOURNAL, openClusterShard } from './cluster-shard.ts';

let asked = 0;

/** A shard without an owner, with two snapshots and a tail, after this number of asks of `a`. */
const written = async (): Promise<ClusterShard> => {
  const shard = await openClusterShard({ snapshotEvery: 10 });
  await shard.take('w1');
  await eventually(async () => {
    await shard.ask('a');
    expect((await shard.snapshots()).length).toBe(2);
  });
  asked = 5 + (await shard.ask('a'));
  await shard.askTimes(5);
  await shard.leave('dies');
  return shard;
};

const rowsOf = (shard: ClusterShard): (readonly [string, string, string])[] =>
  [...shard.cache.dump(0)].map(({ table, key, value }: TableRow) => [
    table,
    key,
    Buffer.from(value).toString('hex'),
  ]);

it('when the blob of the last snapshot is damaged, the previous one is loaded, and that is reported', async () => {
  const shard = await written();
  const { blob } = (await shard.snapshots()).at(-1)!;
  await shard.rot(blob);
  expect(await shard.take('w2')).toBe('owned');
  expect(shard.alarms).toEqual([`shard 0: snapshot ${blob} is damaged`]);
  expect(await shard.ask('a')).toBe(asked + 1);
});

it('when the blob store reports a corrupt blob, the previous one is loaded', async () => {
  const shard = await written();
  const { blobs } = shard;
  const { blob } = (await shard.snapshots()).at(-1)!;
  const get = async (name: string) => {
    if (name !== blob) return blobs.get(name);
    throw new TroupeError('INTERNAL', 'chunk 3 is missing', { details: { reason: 'CORRUPT' } });
  };
  expect(await shard.take('w2', { blobs: { ...plain(blobs), get } })).toBe('owned');
  expect(shard.alarms).toEqual([`shard 0: snapshot ${blob} is damaged: chunk 3 is missing`]);
  expect(await shard.ask('a')).toBe(asked + 1);
});

it('when every snapshot is damaged and the journal was trimmed, the shard is quarantined with the fault', async () => {
  const shard = await written();
  const [one, two] = await shard.snapshots();
  await shard.rot(one!.blob);
  await shard.blobs.delete(two!.blob);
  expect(await shard.take('w2')).toBe('quarantined');
  expect(shard.ended).toContain(`snapshot ${one!.blob} is damaged`);
  expect(shard.ended).toContain(`snapshot ${two!.blob} is missing`);
  expect(shard.ended).toMatch(/journal records 1 to \d+ are missing/);
});

it('when a port does not answer, the shard is lost, never quarantined, and a later owner can take it', async () => {
  const shard = await written();
  const refuse = async () => {
    throw new TroupeError('UNAVAILABLE', 'no responders');
  };
  expect(await shard.take('w2', { blobs: { ...plain(shard.blobs), get: refuse } })).toBe('lost');
  await shard.leave();
  const { log } = shard;
  const read = log.read.bind(log);
  log.read = refuse;
  expect(await shard.take('w2')).toBe('lost');
  await shard.leave();
  log.read = read;
  expect(await shard.take('w2')).toBe('owned');
  expect(await shard.ask('a')).toBe(asked + 1);
});

it('a shard with a damaged journal record is quarantined with its position', async () => {
  const shard = await written();
  const entry = (await shard.log.read(JOURNAL, 1)).at(-3)!;
  entry.bytes[entry.bytes.length >> 1]! ^= 0xff;
  expect(await shard.take('w2')).toBe('quarantined');
  expect(shard.ended).toContain(`checksum is wrong at position ${entry.position}`);
});

it('a shard without a record in the middle of its journal is quarantined with its position', async () => {
  const shard = await written();
  const { log } = shard;
  const lost = (await log.last(JOURNAL)) - 2;
  const read = log.read.bind(log);
  log.read = async (subject: string, from: number, options?: ReadOptions) => {
    const entries = await read(subject, from, options);
    return entries.filter(({ position }) => subject !== JOURNAL || position !== lost);
  };
  expect(await shard.take('w2')).toBe('quarantined');
  expect(shard.ended).toContain(`journal records ${lost} to ${lost} are missing`);
});

it.each([
  ['that the journal still covers', 3],
  ['older than the first record of the journal', 200],
])('loading from a cache %s gives the same rows as loading without one', async (_, more) => {
  const shard = await written();
  await shard.take('w2');
  await shard.askTimes(more, 'b');
  await shard.leave();
  expect(await shard.take('w1')).toBe('owned');
  expect(await shard.ask('a')).toBe(asked + 1);
  expect(await shard.ask('b')).toBe(more + 1);
  await shard.leave();
  await shard.take('new');
  await shard.ask('c');
  const fresh = rowsOf(shard);
  await shard.leave('dies');
  await shard.take('w1');
  const head = ([table]: readonly [string, string, string]) => table !== 'meta';
  expect(rowsOf(shard).filter(head)).toEqual(fresh.filter(head));
});

it('when the head of a cache is damaged, the shard is loaded without it', async () => {
  const shard = await written();
  await flipRow(join(shard.path, 'w1'), 0, 'meta', 'head');
  expect(await shard.take('w1')).toBe('owned');
  expect(await shard.ask('a')).toBe(asked + 1);
});

it('when an actor in a cache is damaged, the shard is lost at the first access, and complete for the next owner', async () => {
  const shard = await written();
  await flipRow(join(shard.path, 'w1'), 0, 'actor', '');
  expect(await shard.take('w1')).toBe('owned');
  const answer = shard.ask('a');
  await eventually(() => expect(shard.ended).toMatch(/^lost: .*is damaged/));
  await shard.leave();
  expect(await shard.take('w1')).toBe('owned');
  expect(await answer).toBe(asked + 1);
});

const plain = (blobs: ClusterShard['blobs']): ClusterShard['blobs'] => ({
  put: (name, bytes) => blobs.put(name, bytes),
  get: (name) => blobs.get(name),
  delete: (name) => blobs.delete(name),
  list: (prefix) => blobs.list(prefix),
});

it('an owner that a newer program replaced is lost, and one that tries to follow it is quarantined', async () => {
  const shard = await openClusterShard();
  await shard.take('w1');
  await shard.ask('a');
  const newer = (await shard.log.readLast(JOURNAL))!;
  // Format 2 for readers of format 2, with a matching checksum.
  const bytes = Buffer.concat([Buffer.from([0xc1, 2, 2, 0, 0, 0, 0]), newer.bytes.subarray(7, -4)]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(bytes) >>> 0);
  await shard.log.append(JOURNAL, Buffer.concat([bytes, checksum]));
  void shard.ask('a').catch(() => {});
  await eventually(() => expect(shard.ended).toMatch(/^lost: another owner wrote record/));
  await shard.leave('dies');
  expect(await shard.take('w2')).toBe('quarantined');
  expect(shard.ended).toContain(`(position ${newer.position + 1}) has format 2`);
  expect(await shard.log.last(JOURNAL)).toBe(newer.position + 1);
});
