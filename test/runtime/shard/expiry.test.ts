import { expect, it } from 'vitest';
import { expireRows, expiryOf } from '../../../runtime/shard/turn/expiry.ts';
import { Fold, TABLE } from '../../../runtime/shard/commit/fold.ts';
import { Group } from '../../../runtime/shard/commit/group.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';

const HOUR_MS = 3_600_000;

/** A shard's fold with rows that are committed. */
async function foldWith(rows: readonly (readonly [string, string])[], expiries: readonly number[]) {
  const { state } = createMemoryStore({ clock: systemClock });
  const puts = rows.flatMap(([table, key], i) => {
    const [expiry, at, value] = expiryOf(table, key, expiries[i]!);
    return [
      { shard: 0, table, key, value: Buffer.from('row') },
      { shard: 0, table: expiry, key: at, value },
    ];
  });
  await state.write(puts);
  return Fold.empty(0, state, false, 'cell');
}

const timeAt = (now: number) => ({ now: () => now, aheadMs: () => 0, stampLagMs: () => 0 });
const groupAt = (fold: Fold, keyNow: number) => {
  const group = new Group(fold, timeAt(keyNow), new Set());
  group.keyNow = keyNow;
  return group;
};

it('removes expired rows of any table after their hour, and not before', async () => {
  const fold = await foldWith(
    [
      [TABLE.key, 'a\0b|c'],
      ['ix:runs', 'default|r1'],
    ],
    [10 * HOUR_MS, 10.5 * HOUR_MS],
  );
  expireRows(fold, groupAt(fold, 10 * HOUR_MS));
  expect(fold.get(TABLE.key, 'a\0b|c')).toBeDefined();
  expireRows(fold, groupAt(fold, 11 * HOUR_MS));
  expect(fold.get(TABLE.key, 'a\0b|c')).toBeUndefined();
  expect(fold.get('ix:runs', 'default|r1')).toBeDefined();
  const late = groupAt(fold, 12 * HOUR_MS);
  expireRows(fold, late);
  expect(fold.get('ix:runs', 'default|r1')).toBeUndefined();
  expect(late.puts.length).toBe(2);
});

it('removes a row once, for any number of checks before the record is committed', async () => {
  const fold = await foldWith([[TABLE.key, 'a']], [HOUR_MS]);
  expireRows(fold, groupAt(fold, 5 * HOUR_MS));
  const again = groupAt(fold, 5 * HOUR_MS);
  expireRows(fold, again);
  expect(again.puts).toEqual([]);
});

it('checks again in the next hour when it found nothing', async () => {
  const { state } = createMemoryStore({ clock: systemClock });
  const fold = Fold.empty(0, state, false, 'cell');
  expireRows(fold, groupAt(fold, 5 * HOUR_MS));
  const [table, key, value] = expiryOf(TABLE.key, 'late', HOUR_MS);
  await state.write([{ shard: 0, table, key, value }]);
  const same = groupAt(fold, 5.5 * HOUR_MS);
  expireRows(fold, same);
  expect(same.puts).toEqual([]);
  const next = groupAt(fold, 6 * HOUR_MS);
  expireRows(fold, next);
  expect(next.puts.map(([, expired]) => expired)).toEqual([key, 'late']);
});
