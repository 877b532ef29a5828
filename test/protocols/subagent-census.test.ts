import { expect, it } from 'vitest';
import { Census, type CountedRow, OVERDUE_MS } from '../../protocols/subagent-census.ts';

const NOW = 1_000_000;
const row = (id: string, more: Partial<CountedRow>): CountedRow => ({
  id,
  parent: 'agent:main:main',
  status: 'running',
  createdAt: NOW - 1_000,
  ...more,
});
const censusOf = (rows: readonly CountedRow[]) => {
  const census = new Census(NOW);
  for (const one of rows) census.add(one);
  return census.result();
};

it('a census counts every state, and lists the open ones, the oldest first', () => {
  const { counts, open } = censusOf([
    row('a', { status: 'starting' }),
    row('b', { status: 'reserved', createdAt: NOW - 5_000 }),
    row('c', { status: 'completed', reported: 'steer' }),
    row('d', { status: 'refused', reported: 'waited' }),
    row('e', {}),
  ]);
  expect(counts).toMatchObject({ starting: 1, reserved: 1, running: 1, completed: 1, refused: 1 });
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(5);
  expect(open.map(({ id, ageMs }) => [id, ageMs])).toEqual([
    ['b', 5_000],
    ['a', 1_000],
    ['e', 1_000],
  ]);
});

it('an open one is overdue when its end by time is more than two minutes ago', () => {
  const { open, overdue } = censusOf([
    row('in time', { until: NOW + 1 }),
    row('just late', { until: NOW - OVERDUE_MS }),
    row('overdue', { until: NOW - OVERDUE_MS - 1 }),
    row('ended', { status: 'failed', until: 0, reported: 'silent' }),
  ]);
  expect(overdue).toBe(1);
  expect(open.map(({ lateMs, isOverdue }) => [lateMs, isOverdue])).toEqual([
    [0, false],
    [OVERDUE_MS, false],
    [OVERDUE_MS + 1, true],
  ]);
});

it('one that has ended is unreported until its parent has acknowledged the report', () => {
  const ended = { status: 'completed', startedAt: NOW - 900 } as const;
  expect(censusOf([row('a', ended), row('b', { ...ended, reported: 'collect' })]).unreported).toBe(
    1,
  );
});
