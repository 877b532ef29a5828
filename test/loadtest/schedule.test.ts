/** When requests are due: a pure function of rate, mix, arrival and seed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrivals, type ScheduleOptions } from '../../loadtest/schedule.ts';
import { mixOf, objectivesOf, rampOf } from '../../loadtest/arguments.ts';

const options: ScheduleOptions = {
  ratePerSecond: 200,
  seconds: 20,
  arrival: 'poisson',
  mix: { runs: 0.8, envelopes: 0.2 },
  seed: 7,
};

describe('a schedule', () => {
  it('is the same for the same seed, and another one for another seed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 2 }), (seed) => {
        const first = [...arrivals({ ...options, seconds: 1, seed })];
        expect([...arrivals({ ...options, seconds: 1, seed })]).toEqual(first);
        expect([...arrivals({ ...options, seconds: 1, seed: seed + 1 })]).not.toEqual(first);
      }),
      { numRuns: 50 },
    );
  });

  it('has the stated rate and mix, in order of time', () => {
    const all = [...arrivals(options)];
    expect(Math.abs(all.length - 4_000)).toBeLessThan(300);
    const share = all.filter(({ workload }) => workload === 'runs').length / all.length;
    expect(Math.abs(share - 0.8)).toBeLessThan(0.03);
    expect(all.map(({ atMs }) => atMs)).toEqual(
      all.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
    );
    expect(all.at(-1)!.atMs).toBeLessThan(20_000);
  });

  it('with constant arrivals has equal distances', () => {
    const all = [...arrivals({ ...options, arrival: 'constant', ratePerSecond: 4, seconds: 1 })];
    expect(all.map(({ atMs }) => atMs)).toEqual([0, 250, 500, 750]);
  });
});

describe('arguments', () => {
  it('of a mix are weights', () => {
    expect(mixOf('runs=8,envelopes=2', ['runs', 'envelopes'])).toEqual({
      runs: 0.8,
      envelopes: 0.2,
    });
    expect(mixOf('runs', ['runs'])).toEqual({ runs: 1 });
    for (const wrong of ['walks', 'runs=0', 'runs=-1', 'runs=x', 'runs,runs', '', 'runs=1=2'])
      expect(() => mixOf(wrong, ['runs'])).toThrow(/--mix/);
  });

  it('of a ramp reach both ends', () => {
    expect(rampOf('10..80', { steps: 4 })).toEqual([10, 20, 40, 80]);
    expect(rampOf('10..100', { factor: 2 })).toEqual([10, 20, 40, 80, 100]);
    for (const wrong of ['10', '80..10', '0..10', 'a..b', '1..2..3'])
      expect(() => rampOf(wrong, {})).toThrow(/--ramp/);
    expect(() => rampOf('1..10000', { factor: 1.01 })).toThrow(/more than 100/);
  });

  it('of objectives have units and workloads', () => {
    expect(objectivesOf('p99=500ms,errors=0.1%', ['runs'])).toEqual([
      { figure: 'p99', atMost: 500 },
      { figure: 'errors', atMost: 0.001 },
    ]);
    expect(objectivesOf('p99.9<2s@chats', ['chats'])).toEqual([
      { figure: 'p999', atMost: 2_000, workload: 'chats' },
    ]);
    for (const wrong of ['p98=1s', 'p99', 'errors=500ms', 'p99=1s@memory', ''])
      expect(() => objectivesOf(wrong, ['runs'])).toThrow(/objective|mix/);
  });
});
