import { expect, it } from 'vitest';
import { TaskCount } from '../../../channels/edge/task-count.ts';
import type { Clock, IndexRow } from '../../../runtime/index.ts';

/** An index of `rows` tasks, with a manual clock. */
const countOf = (rows: number, tasksMax: number) => {
  let keys = Array.from({ length: rows }, (_, n) => String(n).padStart(6, '0'));
  let timers: { at: number; call: () => void }[] = [];
  let nowMs = 0;
  const pages: number[] = [];
  const clock = {
    after(delayMs: number, call: () => void) {
      timers.push({ at: nowMs + delayMs, call });
      return () => {};
    },
  } as unknown as Clock;
  const index = {
    list<V>(_: string, __: string, { after = '', limit = 1_000 } = {}): readonly IndexRow<V>[] {
      const page = keys.filter((key) => key > after).slice(0, limit);
      pages.push(page.length);
      return page.map((key) => ({ key, value: {} as V }));
    },
  };
  const pass = (ms: number) => {
    const until = nowMs + ms;
    for (;;) {
      const next = timers.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      timers = timers.filter((timer) => timer !== next);
      nowMs = next.at;
      next.call();
    }
    nowMs = until;
  };
  const count = new TaskCount({ index, clock, tasksMax: () => tasksMax });
  return { count, pages, pass, forget: () => (keys = []) };
};

it('rows are counted page by page, with pauses in between', () => {
  const { count, pages, pass } = countOf(2_500, 2_500);
  expect(count.isFull('acme')).toBe(false);
  pass(0);
  expect(pages).toEqual([1_000]);
  pass(1_000);
  expect(pages).toEqual([1_000, 1_000, 500]);
  expect(count.isFull('acme')).toBe(true);
});

it('added tasks count at once, also during a count', () => {
  const { count, pass } = countOf(1_500, 1_502);
  count.add('acme');
  pass(0);
  count.add('acme');
  expect(count.isFull('acme')).toBe(false);
  pass(1_000);
  expect(count.isFull('acme')).toBe(true);
});

it('there is room again when rows have expired', () => {
  const { count, pass, forget } = countOf(100, 100);
  count.isFull('acme');
  pass(1_000);
  expect(count.isFull('acme')).toBe(true);
  forget();
  pass(60_000);
  expect(count.isFull('acme')).toBe(false);
});

it('tenants are counted separately', () => {
  const { count } = countOf(0, 1);
  count.add('acme');
  expect(count.isFull('acme')).toBe(true);
  expect(count.isFull('other')).toBe(false);
});

it('nothing is counted after the close', () => {
  const { count, pages, pass } = countOf(5, 10);
  count.isFull('acme');
  count.close();
  pass(1_000_000);
  expect(pages).toEqual([]);
});

it('a tenant without tasks is not counted again before its next request', () => {
  const { count, pages, pass, forget } = countOf(10, 100);
  expect(count.isFull('acme')).toBe(false);
  pass(1_000);
  forget();
  pass(86_400_000);
  expect(pages).toEqual([10, 0]);
  expect(count.isFull('acme')).toBe(false);
  pass(1_000);
  expect(pages).toEqual([10, 0, 0]);
});
