/** Whether a step met its objectives. */
import type { Histogram } from 'hdr-histogram-js';
import { newHistogram, percentileMs } from './histograms.ts';
import type { Objective, Outcome, Step } from './report.ts';

const PERCENTILES = { p50: 50, p90: 90, p99: 99, p999: 99.9, max: 100 } as const;

/**
 * The objectives that were missed, with what was measured. Requests that did not end count as
 * errors. Latencies are those of successful requests; without one, a latency objective is missed
 * only through `errors`.
 */
export function missedOf(
  objectives: readonly Objective[],
  workloads: Readonly<Record<string, Outcome>>,
  latencies: ReadonlyMap<string, Histogram>,
): Step['missed'] {
  return objectives.flatMap((objective) => {
    const measured = measure(objective, workloads, latencies);
    return measured > objective.atMost ? [{ objective, measured }] : [];
  });
}

function measure(
  { figure, workload }: Objective,
  workloads: Readonly<Record<string, Outcome>>,
  latencies: ReadonlyMap<string, Histogram>,
): number {
  const names = workload === undefined ? Object.keys(workloads) : [workload];
  if (figure === 'errors') return errorShare(names.flatMap((name) => workloads[name] ?? []));
  const all = newHistogram();
  for (const name of names) {
    const latency = latencies.get(name);
    if (latency && latency.totalCount > 0) all.add(latency);
  }
  return percentileMs(all, PERCENTILES[figure]);
}

/** 0 without requests. */
export function errorShare(outcomes: readonly Outcome[]): number {
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  const scheduled = sum((outcome) => outcome.scheduled);
  return scheduled === 0 ? 0 : sum(({ failed, unfinished }) => failed + unfinished) / scheduled;
}
