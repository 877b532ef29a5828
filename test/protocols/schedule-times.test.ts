import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { When } from '../../protocols/schedule.ts';
import { faultIn, nextTime, timesBetween } from '../../protocols/schedule-times.ts';

const at = (text: string) => Date.parse(text);
const inBerlin = (expression: string): When => ({
  kind: 'cron',
  expression,
  timeZone: 'Europe/Berlin',
});
/** The next few times, as text. */
const times = (when: When, after: string, count: number): string[] => {
  const found: string[] = [];
  for (let time = at(after); found.length < count; ) {
    time = nextTime(when, time)!;
    found.push(new Date(time).toISOString().slice(0, 16));
  }
  return found;
};

describe('cron times', () => {
  it('a time that does not exist on a day when clocks go forward fires at the change', () => {
    expect(times(inBerlin('30 2 * * *'), '2026-03-27T12:00Z', 3)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  it('a time that occurs twice on a day when clocks go back fires once', () => {
    expect(times(inBerlin('30 2 * * *'), '2026-10-24T12:00Z', 3)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
      '2026-10-27T01:30',
    ]);
  });

  it.each([
    ['2026-03-28T22:30Z', ['2026-03-28T23:00', '2026-03-29T00:00', '2026-03-29T01:00']],
    ['2026-10-24T23:30Z', ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00']],
  ])('an hourly job fires each hour, also across the clock change after %s', (after, expected) => {
    expect(times(inBerlin('0 * * * *'), after, 3)).toEqual(expected);
  });

  it('a job at nine in the morning fires at nine in the morning all year', () => {
    const hours = times(inBerlin('0 9 * * *'), '2026-01-01T00:00Z', 365).map((time) =>
      new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(
        at(`${time}Z`),
      ),
    );
    expect(new Set(hours)).toEqual(new Set(['09:00']));
  });
});

describe('times between two', () => {
  it.each<[string, When]>([
    ['a period', { kind: 'every', everyMs: 7_000, from: at('2026-03-28T00:00Z') }],
    ['each minute', inBerlin('* * * * *')],
    ['a night in spring', inBerlin('30 2 * * *')],
  ])('equal the sequence of next times: %s', (_, when) => {
    const start = at('2026-03-28T00:00Z');
    fc.assert(
      fc.property(fc.nat(3_600_000), fc.nat(600_000), (offset, length) => {
        const first = nextTime(when, start + offset)!;
        const until = first + length;
        const expected: number[] = [];
        for (let time = nextTime(when, first)!; time <= until; time = nextTime(when, time)!)
          expected.push(time);
        expect(timesBetween(when, first, until)).toEqual(expected.slice(-100));
      }),
      { numRuns: 20 },
    );
  });

  it('are limited to the last hundred', () => {
    const when: When = { kind: 'every', everyMs: 1_000, from: 0 };
    const found = timesBetween(when, 0, 86_400_000);
    expect([found.length, found.at(-1)]).toEqual([100, 86_400_000]);
  });
});

it('reports times that cannot be parsed, never occur or have passed', () => {
  const now = at('2026-01-01T00:00Z');
  expect(faultIn(inBerlin('61 * * * *'), now)).toMatch(/61 \* \* \* \* \(Europe\/Berlin\)/);
  expect(faultIn(inBerlin('0 0 30 2 *'), now)).toMatch(/never occurs/);
  expect(faultIn({ kind: 'at', at: now }, now)).toMatch(/has passed/);
  expect(faultIn(inBerlin('*/5 * * * *'), now)).toBeUndefined();
});
