/** The statistics of benchmarks. Nothing here assumes a distribution. */

/** The value that a share `p` (0 to 1) of the samples does not exceed (nearest rank). */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(p * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError('there is no percentile of no samples');
  return value;
}

/** The median; of an even number of samples, the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const high = sorted[Math.floor(middle)];
  const low = sorted[Math.ceil(middle) - 1];
  if (high === undefined || low === undefined)
    throw new RangeError('there is no median of no samples');
  return (low + high) / 2;
}

/** p50 and p99 of a list of durations. */
export const spread = (samples: readonly number[]): { p50: number; p99: number } => ({
  p50: percentile(samples, 0.5),
  p99: percentile(samples, 0.99),
});
