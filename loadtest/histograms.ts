/** Latencies as HdrHistograms of whole microseconds with 3 significant digits. */
import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** It grows with its largest value. */
export const newHistogram = (): Histogram =>
  build({
    bitBucketSize: 32,
    autoResize: true,
    highestTrackableValue: 2,
    numberOfSignificantValueDigits: 3,
  });

/** @param ms a shorter time than a microsecond counts as one */
export const record = (histogram: Histogram, ms: number): void =>
  histogram.recordValue(Math.max(1, Math.round(ms * 1_000)));

/** The format of HistogramLogWriter, as the report has it. */
export const encoded = (histogram: Histogram): string => encodeIntoCompressedBase64(histogram);

/** Milliseconds; 0 without values. @param percentile 0 to 100 */
export const percentileMs = (histogram: Histogram, percentile: number): number =>
  histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(percentile) / 1_000;
