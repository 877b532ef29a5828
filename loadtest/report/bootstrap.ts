/**
 * Confidence intervals by the block bootstrap (Künsch 1989; circular blocks after Politis and
 * Romano 1992).
 *
 * Requests of a test are not independent: one pause of the target delays all requests of that
 * moment, and a checkpoint every few seconds delays those of several windows. An interval from
 * single requests would be far too narrow. So whole windows are drawn, in blocks of adjacent
 * windows that are longer than the correlation which the windows show. Circular blocks give each
 * window the same weight.
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
/** Less windows say too little about their variation. */
export const WINDOWS_MIN = 8;
/** The same reports give the same intervals. */
const SEED = 0x5eed;

/** What one resample contains. */
type Drawn = { readonly percentiles: readonly number[]; readonly errorShare: number };

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
  const [drawnBefore, drawnAfter] = [before, after].map((windows) =>
    resamples(windows, shares, random),
  ) as [Drawn[], Drawn[]];
  return {
    ratios: shares.map((_, n) =>
      intervalOf(
        drawnAfter.map((drawn, i) => drawn.percentiles[n]! / drawnBefore[i]!.percentiles[n]!),
      ),
    ),
    errors: intervalOf(
      drawnAfter.map(({ errorShare }, i) => errorShare - drawnBefore[i]!.errorShare),
    ),
  };
}

function intervalOf(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[rankOf(share, sorted.length) - 1]!;
  return { low: at(LOW), high: at(HIGH) };
}

function resamples(
  windows: readonly WindowSample[],
  shares: readonly number[],
  random: Random,
): Drawn[] {
  const { values, places } = aligned(windows);
  const counts = new Float64Array(values.length);
  const length = blockLength(windows);
  return Array.from({ length: RESAMPLES }, () => {
    counts.fill(0);
    let [total, scheduled, failed] = [0, 0, 0];
    for (const n of blocks(windows.length, length, random)) {
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
  });
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
 * The first lag at which the mean latencies of windows show no correlation any more, at least the
 * cube root of the number of windows, and at most a quarter of it, so that resamples differ.
 */
export function blockLength(windows: readonly WindowSample[]): number {
  const count = windows.length;
  const means = windows.flatMap(({ latencies }) =>
    latencies.total === 0 ? [] : Math.log1p(meanOf(latencies)),
  );
  const largest = Math.max(1, Math.floor(count / 4));
  let length = Math.ceil(Math.cbrt(count));
  while (length < largest && correlation(means, length) > 2 / Math.sqrt(means.length)) length++;
  return Math.min(length, largest);
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
