/**
 * The distribution of latencies: a histogram of HdrHistogram as a sorted list of its values with
 * their counts. Histograms with the same precision have the same values, so they can be added up
 * without loss.
 */
import { decodeFromCompressedBase64, JsHistogram } from 'hdr-histogram-js';

const MICROSECONDS_OF_MS = 1_000;

export class Latencies {
  /** microseconds, ascending; each is the upper end of an interval of at most 0.1 % of it */
  readonly values: readonly number[];
  /** how often each value occurs, at least 1 */
  readonly counts: readonly number[];
  readonly total: number;

  private constructor(values: readonly number[], counts: readonly number[]) {
    this.values = values;
    this.counts = counts;
    this.total = counts.reduce((sum, count) => sum + count, 0);
  }

  static readonly none = new Latencies([], []);

  /** @throws Error when the text is no compressed HdrHistogram, or is cut off */
  static decode(base64: string): Latencies {
    const histogram = decodeFromCompressedBase64(base64);
    if (!(histogram instanceof JsHistogram)) throw new Error('unknown kind of histogram');
    const values: number[] = [];
    const counts: number[] = [];
    const end = histogram.countsArrayIndex(histogram.maxValue);
    for (let index = 0; index <= end; index++) {
      const count = histogram.getCountAtIndex(index);
      if (count === 0) continue;
      values.push(histogram.highestEquivalentValue(histogram.valueFromIndex(index)));
      counts.push(count);
    }
    return new Latencies(values, counts);
  }

  static sum(parts: readonly Latencies[]): Latencies {
    if (parts.length === 1) return parts[0]!;
    const counts = new Map<number, number>();
    for (const part of parts)
      for (const [n, value] of part.values.entries())
        counts.set(value, (counts.get(value) ?? 0) + part.counts[n]!);
    const values = [...counts.keys()].toSorted((a, b) => a - b);
    return new Latencies(
      values,
      values.map((value) => counts.get(value)!),
    );
  }

  /**
   * The value in ms that a share `p` (0 to 1) of the requests does not exceed; 1 is the longest.
   * undefined without requests.
   */
  at(p: number): number | undefined {
    const rank = rankOf(p, this.total);
    let seen = 0;
    for (const [n, value] of this.values.entries()) {
      seen += this.counts[n]!;
      if (seen >= rank) return value / MICROSECONDS_OF_MS;
    }
    return undefined;
  }
}

/** How many of `total` requests make up the share `p`; at least one. The product is rounded off. */
export const rankOf = (p: number, total: number): number =>
  Math.max(1, Math.ceil(p * total * (1 - Number.EPSILON)));
