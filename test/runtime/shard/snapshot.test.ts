/** The rows of a large shard as one blob and back, page by page. */
import { expect, it } from 'vitest';
import {
  collectRows,
  isKnownLayout,
  restoreRows,
  sha256InTurns,
} from '../../../runtime/shard/recovery/snapshot.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { Put } from '../../../runtime/state/state.ts';

const SHARD = 3;
const rows = (count: number, text: string): Put[] =>
  Array.from({ length: count }, (_, i) => ({
    shard: SHARD,
    table: i % 2 === 0 ? 'actor' : 'timer',
    key: `k${i}`,
    value: Buffer.from(text.repeat(1 + (i % 50))),
  }));
const head: Put = { shard: SHARD, table: 'meta', key: 'head', value: Buffer.from('head') };

it('a snapshot contains the rows of the moment at which it started, over many pages', async () => {
  const state = new MemoryState();
  await state.write([...rows(5_000, 'some text '), head]);
  const wanted = [...state.dump(SHARD)];
  const collecting = collectRows(state, SHARD);
  await state.write(rows(6_000, 'later text '));
  const { bytes, sha256 } = await collecting;
  expect(await sha256InTurns(bytes)).toBe(sha256);
  expect(isKnownLayout(bytes)).toBe(true);
  const restored = new MemoryState();
  const writes: (readonly Put[])[] = [];
  await restoreRows(SHARD, bytes, async (puts) => {
    writes.push(puts);
    await restored.write(puts);
  });
  expect([...restored.dump(SHARD)]).toEqual(wanted);
  expect(writes.length).toBeGreaterThan(4);
  expect(writes.at(-1)).toEqual([head]);
  expect(writes.slice(0, -1).flat()).not.toContainEqual(head);
});

it('an empty shard has a snapshot without rows', async () => {
  const { bytes } = await collectRows(new MemoryState(), SHARD);
  const restored = new MemoryState();
  await restoreRows(SHARD, bytes, (puts) => restored.write(puts));
  expect([...restored.dump(SHARD)]).toEqual([]);
});
