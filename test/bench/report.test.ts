import { describe, expect, test } from 'vitest';
import { judge, parseGate, withGates } from '../../bench/harness/gates.ts';
import { amount, compare, reportOf, verdictsOf } from '../../bench/harness/report.ts';
import type { Figure, Results } from '../../bench/harness/runner.ts';
import { defineScenario, type Unit } from '../../bench/harness/scenario.ts';
import { median, percentile } from '../../bench/harness/statistics.ts';

const figure = (unit: Unit, ...values: number[]): Figure => ({
  label: 'a figure',
  unit,
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
  values,
});

const results = (figures: Record<string, Figure>): Results => ({
  format: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  scale: 'full',
  machine: {
    cpu: 'abacus',
    cores: 2,
    memoryMb: 1,
    node: 'v20',
    os: 'none',
    folder: '/tmp',
    fileSystem: 'ext4',
  },
  scenarios: [
    {
      name: 'turn',
      question: 'how many?',
      seconds: 1,
      load: { average: 0, busy: 0 },
      status: 'measured',
      figures,
    },
  ],
});

describe('statistics', () => {
  test('the median of an even number of samples is the mean of the two in the middle', () => {
    expect(median([9, 1, 3, 2])).toBe(2.5);
    expect(median([5, 1, 3])).toBe(3);
  });

  test('a percentile is a sample that so many do not exceed', () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile([7], 0.99)).toBe(7);
  });

  test('there is neither of no samples', () => {
    expect(() => median([])).toThrow(RangeError);
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe('gates', () => {
  test.each([
    ['1/s', 100, true],
    ['1/s', 99, false],
    ['ms', 100, true],
    ['ms', 101, false],
  ] as const)('of %s at 100, %d passes: %s', (unit, value, passed) => {
    expect(judge({ figure: 'a.b', threshold: 100 }, value, unit).passed).toBe(passed);
  });

  test('a gate that no figure could miss fails the check', () => {
    const gate = { figure: 'turn.f', threshold: 0 };
    const { text, passed } = verdictsOf(results({ f: figure('ratio', 0.5) }), [gate]);
    expect([passed, text]).toEqual([false, expect.stringContaining('cannot be missed')]);
    expect(verdictsOf(results({ f: figure('count', 0) }), [gate]).passed).toBe(true);
  });

  test('a goal that is not reached fails nothing', () => {
    const verdict = judge({ figure: 'a.b', threshold: 10, goal: 20 }, 15, '1/s');
    expect(verdict).toMatchObject({ passed: true, reached: false, margin: 0.5 });
  });

  test('a gate of the command line replaces the one of the same figure only', () => {
    const own = parseGate('turn.turnsPerSecond=5');
    const all = withGates([own]);
    expect(all.filter((gate) => gate.figure === own.figure)).toEqual([own]);
    expect(all.map((gate) => gate.figure)).toContain('run.addedP99Ms');
  });

  test('a scenario that failed fails the check, whatever its gates', () => {
    const failed: Results = {
      ...results({}),
      scenarios: [
        {
          name: 'turn',
          question: 'how many?',
          seconds: 1,
          load: { average: 0, busy: 0 },
          status: 'failed',
          why: 'it did not end',
        },
      ],
    };
    expect(verdictsOf(failed, [])).toMatchObject({ passed: false });
    expect(verdictsOf(failed, []).text).toContain('it did not end');
  });
});

describe('the comparison with a baseline', () => {
  const lineOf = (before: Figure, now: Figure) =>
    compare(results({ f: now }), results({ f: before }))
      .split('\n')
      .at(-1);

  test('tells better from worse by what the unit means', () => {
    expect(lineOf(figure('1/s', 100), figure('1/s', 150))).toMatch(/\+50 % +better/);
    expect(lineOf(figure('ms', 100), figure('ms', 150))).toMatch(/\+50 % +WORSE/);
  });

  test('does not report a change within the spread of the repeats', () => {
    const line = lineOf(figure('ms', 80, 100, 130), figure('ms', 120, 125, 140));
    expect(line).not.toMatch(/better|WORSE/);
  });
});

test('a figure whose package is not installed is named, and not compared', () => {
  const absent = { ...figure('ms', Number.NaN), needs: 'a-library' };
  const measured = { ...figure('ms', 5), limit: 'absent' };
  const text = reportOf(results({ measured, absent }), []);
  expect(text).toMatch(/a figure +5\.00 ms\n +a figure +not installed$/);
  const read = JSON.parse(JSON.stringify(results({ absent }))) as Results;
  expect(compare(results({ absent: figure('ms', 5) }), read)).toContain('no figure in common');
  expect(compare(read, results({ absent: figure('ms', 5) }))).toContain('no figure in common');
});

test('amounts have three digits and their unit', () => {
  expect(amount(28_123.4, '1/s')).toBe('28,123 /s');
  expect(amount(0.0123, 'ms')).toBe('0.0123 ms');
  expect(amount(12.345, 'MB')).toBe('12.3 MB');
  expect(amount(1_000_000, 'count')).toBe('1,000,000');
});

test('a figure cannot name a missing figure as its limit', () => {
  const figures = { a: { label: 'a', unit: 'ms', limit: 'b' } } as const;
  const define = () =>
    defineScenario({
      name: 'x',
      question: 'y?',
      secondsMax: 1,
      figures,
      measure: () => Promise.resolve({ a: 1 }),
    });
  expect(define).toThrow('there is no figure b');
});
