/** Comparisons: intervals cover the truth, differences are shown, other plans are refused. */
import { describe, expect, it } from 'vitest';
import { blockLength, type WindowSample } from '../../loadtest/report/bootstrap.ts';
import { checkAgainst, checkObjectives } from '../../loadtest/report/check.ts';
import { type ComparedPercentile, compareReports } from '../../loadtest/report/compare.ts';
import { Latencies } from '../../loadtest/report/latencies.ts';
import { parseObjective } from '../../loadtest/objective.ts';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { histogramOf, loadReport, type ReportOptions } from './reports.ts';

const row = (rows: readonly ComparedPercentile[], workload: string, figure: string) =>
  rows.find((each) => each.workload === workload && each.figure === figure)!;

const pair = (first: ReportOptions, second: ReportOptions) =>
  compareReports(loadReport(first), loadReport(second));

describe('a comparison', () => {
  it('finds a target that is a quarter slower, and the other way round', () => {
    const slow = { seed: 2, rates: [200], serviceMs: 2.5 };
    const fast = { seed: 1, rates: [200], serviceMs: 2 };
    const { percentiles } = pair(fast, slow);
    for (const workload of ['all', 'run', 'chat'])
      expect(row(percentiles, workload, 'p50').verdict).toBe('slower');
    expect(row(percentiles, 'all', 'p50').ratio!.value).toBeGreaterThan(1.1);
    expect(row(pair(slow, fast).percentiles, 'all', 'p50').verdict).toBe('faster');
  });

  it('shows no difference between a report and itself', () => {
    const { percentiles, errors, planDiffers, alsoDiffers } = pair({ seed: 4 }, { seed: 4 });
    expect(new Set(percentiles.map(({ verdict }) => verdict))).toEqual(
      new Set(['no difference shown']),
    );
    expect(errors.every(({ verdict }) => verdict === 'no difference shown')).toBe(true);
    expect([planDiffers, alsoDiffers]).toEqual([[], []]);
  });

  it('of equal targets with pauses rarely shows a difference', () => {
    const how = { rates: [60], seconds: 90, pauseEverySec: 11, pauseMs: 300, mix: { run: 1 } };
    const pairs = Array.from({ length: 12 }, (_, n) =>
      pair({ ...how, seed: 100 + n }, { ...how, seed: 200 + n }),
    );
    const wrong = (figure: string) =>
      pairs.filter(
        ({ percentiles }) => row(percentiles, 'run', figure).verdict !== 'no difference shown',
      ).length;
    expect(wrong('p50')).toBeLessThanOrEqual(2);
    expect(wrong('p90')).toBeLessThanOrEqual(2);
  });

  // Intervals of single requests would show a difference in most of these pairs. Blocks that were
  // as long as the correlation, without stretching and with any number of slow moments, showed one
  // of p99 in 17 of 100.
  it('of equal targets near their capacity rarely shows a difference', () => {
    const how = { rates: [60], seconds: 90, serviceMs: 14, mix: { run: 1 } };
    const rows = Array.from({ length: 24 }, (_, n) =>
      pair({ ...how, seed: 1_000 + n }, { ...how, seed: 50_000 + n }),
    ).flatMap(({ percentiles }) => percentiles);
    const wrong = (figure: string) =>
      rows.filter((each) => each.figure === figure && each.verdict !== 'no difference shown');
    expect(wrong('p50').length).toBeLessThanOrEqual(3);
    expect(wrong('p90').length).toBeLessThanOrEqual(3);
    expect(wrong('p99').length).toBeLessThanOrEqual(1);
    // The slowest hundredth of such a test comes from one or two queues.
    const why = rows.filter(({ figure }) => figure === 'p99').map(({ notCompared }) => notCompared);
    expect(why.filter((text) => text === 'too few slow moments').length).toBeGreaterThan(12);
  });

  it('still finds a target near its capacity that is slower, in a longer test', () => {
    const how = { rates: [60], seconds: 300, serviceMs: 14, mix: { run: 1 } };
    const { percentiles } = pair({ ...how, seed: 1 }, { ...how, seed: 2, serviceMs: 15.5 });
    expect(row(percentiles, 'run', 'p50').verdict).toBe('slower');
    expect(row(percentiles, 'run', 'p90').verdict).toBe('slower');
  });

  it('judges no percentile with fewer than ten requests above it', () => {
    const { percentiles } = pair({ seed: 1, rates: [20] }, { seed: 2, rates: [20], serviceMs: 40 });
    expect(row(percentiles, 'all', 'p999')).toMatchObject({
      ratio: undefined,
      notCompared: 'too few requests',
      verdict: 'no difference shown',
    });
    expect(row(percentiles, 'all', 'p50').verdict).toBe('slower');
  });

  it('shows more errors', () => {
    const { errors } = pair({ seed: 1 }, { seed: 2, errorShare: 0.05 });
    expect(errors.find(({ workload }) => workload === 'all')!.verdict).toBe('more');
  });

  it('names what the plans and the machines do not share', () => {
    const before = loadReport({ rates: [50, 100], seconds: 4 });
    const after = loadReport({ rates: [50, 80], mix: { run: 1 }, arrival: 'constant', seconds: 5 });
    after.machine.cores = 8;
    const { planDiffers, alsoDiffers } = compareReports(before, after);
    expect(planDiffers).toEqual([
      'mix: chat 30 %, run 70 % | run 100 %',
      'arrival: poisson | constant',
      'rates: 50, 100/s | 50, 80/s',
    ]);
    expect(alsoDiffers).toEqual(['cores: 2 | 8', 'seconds of a step: 4 | 5']);
  });

  it('accepts ramps that ended at different rates', () => {
    const before = loadReport({ rates: [50, 100, 200, 150], seconds: 3 });
    const after = loadReport({ rates: [50, 100, 75], seconds: 3 });
    const { planDiffers, percentiles } = compareReports(before, after);
    expect(planDiffers).toEqual([]);
    expect(new Set(percentiles.map(({ ratePerSecond }) => ratePerSecond))).toEqual(
      new Set([50, 100]),
    );
  });
});

describe('blocks of windows', () => {
  const windows = (means: readonly number[]): WindowSample[] =>
    means.map((mean) => ({
      latencies: Latencies.decode(encodeIntoCompressedBase64(histogramOf([mean]))),
      scheduled: 1,
      failed: 0,
    }));

  it('are twice as long as the correlation of the windows', () => {
    const waves = (length: number) =>
      windows(Array.from({ length: 200 }, (_, n) => (Math.floor(n / length) % 2 === 0 ? 1 : 9)));
    expect(blockLength(waves(1))).toBeLessThanOrEqual(14);
    expect(blockLength(waves(20))).toBeGreaterThanOrEqual(18);
  });

  it('are at most a quarter of the test', () => {
    expect(blockLength(windows(Array.from({ length: 9 }, (_, n) => n + 1)))).toBe(2);
  });
});

describe('a check', () => {
  const report = loadReport({ rates: [100, 480], objectives: [parseObjective('p99<=60ms')] });

  it('has one result for each step and objective', () => {
    const objectives = ['p99<=60', 'errors<=1%', 'p50<=0.001s of mail'].map(parseObjective);
    expect(checkObjectives(report, objectives).map(({ passed }) => passed)).toEqual([
      // at 100/s
      true,
      true,
      false,
      // at 480/s
      false,
      true,
      false,
    ]);
  });

  it('judges only steps up to a rate, which the test must have reached', () => {
    const objectives = [parseObjective('p99<=60ms')];
    expect(checkObjectives(report, objectives, 100).every(({ passed }) => passed)).toBe(true);
    expect(checkObjectives(report, objectives, 1_000)[0]).toMatchObject({ passed: false });
  });

  it('fails only when the whole interval is above the tolerance', () => {
    const baseline = loadReport({ seed: 1, rates: [200] });
    const slower = loadReport({ seed: 2, rates: [200], serviceMs: 2.6 });
    const failed = (tolerance: number) =>
      checkAgainst(baseline, slower, tolerance).filter(({ passed }) => !passed).length;
    expect(failed(0.1)).toBeGreaterThan(0);
    expect(failed(3)).toBe(0);
    const again = loadReport({ seed: 3, rates: [200] });
    expect(checkAgainst(baseline, again, 0.1).filter(({ passed }) => !passed)).toEqual([]);
  });

  it('fails when all requests fail, so that no latency can be compared', () => {
    const results = checkAgainst(
      loadReport({ rates: [50], mix: { run: 1 } }),
      loadReport({ rates: [50], mix: { run: 1 }, errorShare: 1 }),
      0.1,
    ).filter(({ passed }) => !passed);
    expect(results.map(({ text }) => text)).toEqual([
      expect.stringContaining('no percentile could be compared'),
      '50/s run, errors: 0 % before, 100 % now',
    ]);
  });

  it('fails when the tests are too short to compare anything', () => {
    const short = loadReport({ seconds: 3 });
    const texts = checkAgainst(short, short, 0.1).map(({ text }) => text);
    expect(texts[0]).toContain('10 requests above a percentile in 4 separate moments');
    expect(texts).toContain('50/s run, p50: not compared, test too short');
    expect(checkAgainst(short, short, 0.1).some(({ passed }) => !passed)).toBe(true);
  });

  it('fails when it judges no step, or one that was interrupted', () => {
    const objectives = [parseObjective('p99<=10s')];
    expect(checkObjectives(report, objectives, 10)).toEqual([
      { passed: false, text: '10/s: nothing to judge, the lowest rate of the test is 100/s' },
    ]);
    const interrupted = { ...report, interrupted: true };
    const passed = (upTo?: number) =>
      checkObjectives(interrupted, objectives, upTo).every((result) => result.passed);
    expect([passed(), passed(100)]).toEqual([false, true]);
  });

  it('fails when no request was due', () => {
    const idle = loadReport({ rates: [1e-9], mix: { run: 1 } });
    expect(checkObjectives(idle, [parseObjective('errors<=1%')])).toEqual([
      { passed: false, text: '1e-9/s: errors <= 1 %, but no request was due' },
    ]);
  });

  it('fails when the sustained rate falls', () => {
    const lower = { ...report, sustainedPerSecond: 50 };
    const results = checkAgainst(report, lower, 0.1).filter(({ passed }) => !passed);
    expect(results.map(({ text }) => text)).toEqual(['sustained rate 100/s before, 50/s now']);
  });
});

describe('an objective', () => {
  it.each([
    ['p99<=500ms', { figure: 'p99', atMost: 500 }],
    ['p99.9 <= 2s of chat', { figure: 'p999', atMost: 2_000, workload: 'chat' }],
    ['errors<=1%', { figure: 'errors', atMost: 0.01 }],
    ['errors<0.01', { figure: 'errors', atMost: 0.01 }],
  ])('%s', (text, objective) => {
    expect(parseObjective(text)).toEqual(objective);
  });

  it.each(['p98<=1', 'p99>=1', 'p99<=1%', 'errors<=5', 'errors<=1ms', 'errors<=101%', ''])(
    '%s is none',
    (text) => {
      expect(() => parseObjective(text)).toThrow('is no objective');
    },
  );
});
