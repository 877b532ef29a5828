/**
 * Confidence intervals by the block bootstrap (Künsch 1989; circular blocks after Politis and
 * Romano 1992).
 *
 * Requests of a test are not independent: one pause of the target delays all requests of that
 * moment, and a checkpoint every few seconds delays those of several windows. An interval from
 * single requests would be far too narrow. So whole windows are drawn, in blocks of adjacent
 * windows that are twice as long as the correlation which the windows show: a shorter block cuts
 * most slow moments in two. Circular blocks give each window the same weight.
 *
 * Few blocks vary less among themselves than tests do, so the intervals are stretched as those of
 * Student's t with as many degrees of freedom as there are blocks (Welch). A percentile that only a
 * few slow moments decide has no interval: resamples of one moment say nothing about the next.
 *
 * The intervals contain the variation within one run, not that between runs.
 */
import { Random } from '../random.ts';
import { Latencies, rankOf } from './latencies.ts';

export type Interval = { readonly low: number; readonly high: number };

/** One window of a test, of one workload or of several. */
export type WindowSample = {
  readonly latencies: Latencies;
  readonly scheduled: number;
  /** failed or not ended in time */
  readonly failed: number;
};

const RESAMPLES = 1_000;
const LOW = 0.025;
const HIGH = 0.975;
/** the 97.5th percentile of the normal distribution */
const NORMAL = 1.96;
/** Less windows say too little about their variation. */
export const WINDOWS_MIN = 8;
/** The same reports give the same intervals. */
const SEED = 0x5eed;

/** What one resample contains. */
type Drawn = { readonly percentiles: readonly number[]; readonly errorShare: number };

type Resampled = {
  readonly draws: readonly Drawn[];
  /** of the test itself */
  readonly whole: Drawn;
  /** how many blocks it has, at least 4 */
  readonly blocks: number;
};

export type Intervals = {
  /** of the ratio after / before, for each of the shares */
  readonly ratios: readonly Interval[];
  /** of the difference after - before of the share of errors */
  readonly errors: Interval;
};

/**
 * 95 % intervals. Both lists have at least `WINDOWS_MIN` windows; where no request of one of them
 * succeeded, those of the ratios are NaN.
 * @param shares of percentiles, 0 to 1
 */
export function intervalsOf(
  before: readonly WindowSample[],
  after: readonly WindowSample[],
  shares: readonly number[],
): Intervals {
  const random = new Random(SEED);
  const tests = [before, after].map((windows) => resampled(windows, shares, random));
  const [first, second] = tests as [Resampled, Resampled];
  return {
    ratios: shares.map((_, n) => {
      const { low, high } = differenceOf(first, second, (drawn) => Math.log(drawn.percentiles[n]!));
      return { low: Math.exp(low), high: Math.exp(high) };
    }),
    errors: differenceOf(first, second, ({ errorShare }) => errorShare),
  };
}

/** The interval of what `of` reads in the second test, minus that in the first. */
function differenceOf(first: Resampled, second: Resampled, of: (drawn: Drawn) => number): Interval {
  const [a, b] = [first.draws.map(of), second.draws.map(of)];
  const sorted = b.map((value, n) => value - a[n]!).toSorted((x, y) => x - y);
  const at = (share: number) => sorted[rankOf(share, sorted.length) - 1]!;
  const whole = of(second.whole) - of(first.whole);
  const [low, high] = [Math.min(at(LOW), whole), Math.max(at(HIGH), whole)];
  const stretch = stretchOf(varianceOf(a), first.blocks, varianceOf(b), second.blocks);
  return { low: whole - stretch * (whole - low), high: whole + stretch * (high - whole) };
}

/** @param firsts blocks of the first test @param seconds of the second one */
function stretchOf(first: number, firsts: number, second: number, seconds: number): number {
  const drawn = first + second;
  // Without variation there is nothing to stretch; without latencies all is NaN.
  if (!(drawn > 0)) return 1;
  const [a, b] = [(first * firsts) / (firsts - 1), (second * seconds) / (seconds - 1)];
  const freedom = (a + b) ** 2 / (a ** 2 / (firsts - 1) + b ** 2 / (seconds - 1));
  return (studentAt(freedom) / NORMAL) * Math.sqrt((a + b) / drawn);
}

function varianceOf(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}

/**
 * The 97.5th percentile of Student's t, within 1 % from 3 degrees of freedom on (Cornish, Fisher).
 */
function studentAt(freedom: number): number {
  const z = NORMAL;
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  );
}

/**
 * How many separate moments of a test have requests above a percentile: windows that are nearer
 * than a block count once.
 * @param share of the percentile, 0 to 1
 */
export function momentsAbove(windows: readonly WindowSample[], share: number): number {
  const limit = Latencies.sum(windows.map(({ latencies }) => latencies)).at(share);
  if (limit === undefined) return 0;
  const length = blockLength(windows);
  let [moments, next] = [0, 0];
  for (const [at, { latencies }] of windows.entries()) {
    const longest = latencies.at(1);
    // A percentile may be the longest request of its test.
    if (at < next || longest === undefined || longest < limit) continue;
    moments++;
    next = at + length;
  }
  return moments;
}

function resampled(
  windows: readonly WindowSample[],
  shares: readonly number[],
  random: Random,
): Resampled {
  const { values, places } = aligned(windows);
  const counts = new Float64Array(values.length);
  const length = blockLength(windows);
  const drawn = (chosen: Iterable<number>): Drawn => {
    counts.fill(0);
    let [total, scheduled, failed] = [0, 0, 0];
    for (const n of chosen) {
      const { latencies, ...window } = windows[n]!;
      const own = places[n]!;
      for (let i = 0; i < own.length; i++) counts[own[i]!]! += latencies.counts[i]!;
      total += latencies.total;
      scheduled += window.scheduled;
      failed += window.failed;
    }
    return {
      percentiles: percentiles(values, counts, total, shares),
      errorShare: scheduled === 0 ? 0 : failed / scheduled,
    };
  };
  return {
    draws: Array.from({ length: RESAMPLES }, () => drawn(blocks(windows.length, length, random))),
    whole: drawn(windows.keys()),
    blocks: windows.length / length,
  };
}

/** All values of all windows, and for each window the places of its values among them. */
function aligned(windows: readonly WindowSample[]) {
  const { values } = Latencies.sum(windows.map(({ latencies }) => latencies));
  const placeOf = new Map(values.map((value, n) => [value, n]));
  const places = windows.map(({ latencies }) =>
    Uint32Array.from(latencies.values, (value) => placeOf.get(value)!),
  );
  return { values, places };
}

/** @param shares ascending */
function percentiles(
  values: readonly number[],
  counts: Float64Array,
  total: number,
  shares: readonly number[],
): number[] {
  const found: number[] = [];
  let seen = 0;
  let n = -1;
  for (const share of shares) {
    const rank = rankOf(share, total);
    while (seen < rank && n < values.length - 1) seen += counts[++n]!;
    found.push(values[Math.max(0, n)]!);
  }
  return found;
}

/** As many windows as there are, in blocks that start anywhere and go round the end. */
function* blocks(count: number, length: number, random: Random): Generator<number> {
  let start = 0;
  for (let n = 0; n < count; n++) {
    if (n % length === 0) start = Math.floor(random.next() * count);
    yield (start + (n % length)) % count;
  }
}

/**
 * Twice the first lag at which the mean latencies of windows show no correlation any more, which is
 * at least the cube root of the number of windows. At most a quarter of the test, so that resamples
 * differ.
 */
export function blockLength(windows: readonly WindowSample[]): number {
  const count = windows.length;
  const means = windows.flatMap(({ latencies }) =>
    latencies.total === 0 ? [] : Math.log1p(meanOf(latencies)),
  );
  const largest = Math.max(1, Math.floor(count / 4));
  let lag = Math.ceil(Math.cbrt(count));
  while (lag < largest && correlation(means, lag) > 2 / Math.sqrt(means.length)) lag++;
  return Math.min(2 * lag, largest);
}

const meanOf = ({ values, counts, total }: Latencies): number =>
  values.reduce((sum, value, n) => sum + value * counts[n]!, 0) / total;

function correlation(series: readonly number[], lag: number): number {
  const mean = series.reduce((sum, value) => sum + value, 0) / series.length;
  const centred = series.map((value) => value - mean);
  const variance = centred.reduce((sum, value) => sum + value * value, 0);
  const covariance = centred.slice(lag).reduce((sum, value, n) => sum + value * centred[n]!, 0);
  return variance === 0 ? 0 : covariance / variance;
}
