import { beforeEach, expect, it } from 'vitest';
import { encode } from '../../../protocols/codec.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { enterCell } from '../../../runtime/cluster/cell.ts';
import { createMemoryStore, type MemoryLog } from '../../../runtime/log/memory.ts';
import { eventually } from '../eventually.ts';

let log: MemoryLog;
let said: string[];
const onAlarm = (what: string) => void said.push(what);
beforeEach(() => {
  ({ log } = createMemoryStore({ clock: systemClock, atomic: false }));
  said = [];
});

it('returns the same name and shard count to every process of a new cell', async () => {
  const counts = [4, 8, 16, 32];
  const cells = await Promise.all(
    counts.map((shards) => enterCell(log, { env: 'e', shards, onAlarm })),
  );
  expect(new Set(cells.map(({ cell }) => cell)).size).toBe(1);
  expect(cells[0]?.cell).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(cells.map(({ shards }) => shards)).size).toBe(1);
  expect(said).toHaveLength(3);
  expect(said[0]).toContain('shards were requested');
  expect(await log.read('cell.e', 0)).toHaveLength(1);
});

it('separates cells of different names', async () => {
  const one = await enterCell(log, { env: 'one', shards: 8, onAlarm });
  const other = await enterCell(log, { env: 'other', shards: 8, onAlarm });
  expect(other.cell).not.toBe(one.cell);
});

it('waits during an import, and joins the cell that it creates', async () => {
  const cell = 'c'.repeat(32);
  const record = { cell, shards: 3, createdAt: 7 };
  await log.append('cell.e', encode({ ...record, importing: true }));
  const entering = enterCell(log, { env: 'e', shards: 3, onAlarm });
  await eventually(() => expect(said.join()).toContain('import is under way'));
  await log.append('cell.e', encode(record));
  expect(await entering).toEqual(record);
  expect(said).toHaveLength(1);
});

it('stops waiting for an import when its signal aborts', async () => {
  await log.append('cell.e', encode({ importing: true }));
  const stop = new AbortController();
  const entering = enterCell(log, {
    env: 'e',
    shards: 3,
    onAlarm: () => stop.abort(),
    signal: stop.signal,
  });
  await expect(entering).rejects.toMatchObject({ code: 'CANCELLED' });
});

it('refuses a record of an embedded installation, and invalid counts', async () => {
  await log.append('cell.e', encode({ shards: 8, createdAt: 1 }));
  await expect(enterCell(log, { env: 'e', shards: 8, onAlarm })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
  for (const shards of [0, 1.5, -1, 65_537, Number.NaN])
    await expect(enterCell(log, { env: 'n', shards, onAlarm })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  expect(await log.last('cell.n')).toBe(0);
});
