/**
 * Counts and latencies of one step, by window of a second and by workload. A request belongs to the
 * window in which it was due, however late its answer comes.
 *
 * Memory: a window keeps its samples until all of its requests have ended, and is a few hundred
 * bytes of text from then on.
 */
import type { Histogram } from 'hdr-histogram-js';
import { encoded, newHistogram, percentileMs, record } from './histograms.ts';
import type { Outcome, Usage, Window } from './report.ts';

/** How one request ended. `error` is a code such as `UNAVAILABLE`. */
export type Ending =
  | { readonly latencyMs: number; readonly serviceMs: number }
  | { readonly error: string };

type Samples = {
  scheduled: number;
  succeeded: number;
  failed: number;
  readonly errors: Record<string, number>;
  readonly latencyMs: number[];
  readonly serviceMs: number[];
};

type OpenWindow = { pending: number; readonly workloads: Map<string, Samples> };

type Total = Omit<Samples, 'latencyMs' | 'serviceMs'> & {
  readonly latency: Histogram;
  readonly service: Histogram;
};

/** What progress shows of a window. */
export type Glance = {
  readonly scheduled: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

export class StepRecorder {
  readonly #open = new Map<number, OpenWindow>();
  readonly #sealed = new Map<number, Window['workloads']>();
  readonly #totals = new Map<string, Total>();
  readonly #usage = new Map<number, Record<string, Usage>>();
  #sendDelaySumMs = 0;
  #sentCount = 0;
  /** answers since the last glance, by the time at which they came */
  #recent = { scheduled: 0, succeeded: 0, failed: 0, latency: newHistogram() };

  /** Returns the function that receives the ending of this request; it counts once. */
  scheduled(workload: string, atMs: number): (ending: Ending) => void {
    const at = Math.floor(atMs / 1_000);
    const window = this.#open.get(at) ?? { pending: 0, workloads: new Map<string, Samples>() };
    this.#open.set(at, window);
    const samples = window.workloads.get(workload) ?? newSamples();
    window.workloads.set(workload, samples);
    const total = this.#totalOf(workload);
    samples.scheduled++;
    total.scheduled++;
    this.#recent.scheduled++;
    window.pending++;
    let hasEnded = false;
    return (ending) => {
      if (hasEnded) return;
      hasEnded = true;
      window.pending--;
      this.#count(samples, total, ending);
    };
  }

  usage(second: number, processes: Record<string, Usage>): void {
    this.#usage.set(second, processes);
  }

  /** Encodes the windows before `second` whose requests have all ended. */
  seal(second: number): void {
    for (const [at, window] of this.#open) {
      if (at < second && window.pending === 0) this.#seal(at, window);
    }
  }

  /** Of the time since the last call. */
  glance(): Glance {
    const { latency, ...counts } = this.#recent;
    const glance = {
      ...counts,
      p50Ms: percentileMs(latency, 50),
      p99Ms: percentileMs(latency, 99),
    };
    this.#recent = { scheduled: 0, succeeded: 0, failed: 0, latency: newHistogram() };
    return glance;
  }

  /** Latencies of all requests that succeeded so far, by workload. */
  latencies(): ReadonlyMap<string, Histogram> {
    return new Map([...this.#totals].map(([name, { latency }]) => [name, latency]));
  }

  /** Mean time from when a request was due until it was sent, of all that succeeded so far, ms. */
  sendDelayMs(): number {
    return this.#sentCount === 0 ? 0 : this.#sendDelaySumMs / this.#sentCount;
  }

  /** Requests without an ending count as unfinished. @param seconds length of the step */
  finish(seconds: number): { workloads: Record<string, Outcome>; windows: Window[] } {
    for (const [at, window] of this.#open) this.#seal(at, window);
    const workloads = Object.fromEntries(
      [...this.#totals].map(([name, total]) => [name, outcomeOf(total)]),
    );
    const windows = Array.from({ length: Math.ceil(seconds) }, (_, at) => ({
      at,
      seconds: Math.min(1, seconds - at),
      workloads: this.#sealed.get(at) ?? {},
      processes: this.#usage.get(at) ?? {},
    }));
    return { workloads, windows };
  }

  #count(samples: Samples, total: Total, ending: Ending): void {
    if ('error' in ending) {
      for (const each of [samples, total]) {
        each.failed++;
        each.errors[ending.error] = (each.errors[ending.error] ?? 0) + 1;
      }
      this.#recent.failed++;
      return;
    }
    const { latencyMs, serviceMs } = ending;
    samples.succeeded++;
    total.succeeded++;
    this.#recent.succeeded++;
    this.#sentCount++;
    this.#sendDelaySumMs += latencyMs - serviceMs;
    samples.latencyMs.push(latencyMs);
    samples.serviceMs.push(serviceMs);
    record(total.latency, latencyMs);
    record(total.service, serviceMs);
    record(this.#recent.latency, latencyMs);
  }

  #seal(at: number, { workloads }: OpenWindow): void {
    this.#open.delete(at);
    const outcomes = [...workloads].map(([name, samples]) => {
      const { latencyMs, serviceMs, ...counts } = samples;
      const latency = histogramOf(latencyMs);
      return [name, outcomeOf({ ...counts, latency, service: histogramOf(serviceMs) })] as const;
    });
    this.#sealed.set(at, Object.fromEntries(outcomes));
  }

  #totalOf(workload: string): Total {
    const known = this.#totals.get(workload);
    if (known) return known;
    const counts = { scheduled: 0, succeeded: 0, failed: 0, errors: {} };
    const total = { ...counts, latency: newHistogram(), service: newHistogram() };
    this.#totals.set(workload, total);
    return total;
  }
}

const newSamples = (): Samples => ({
  scheduled: 0,
  succeeded: 0,
  failed: 0,
  errors: {},
  latencyMs: [],
  serviceMs: [],
});

function histogramOf(samples: readonly number[]): Histogram {
  const histogram = newHistogram();
  for (const ms of samples) record(histogram, ms);
  return histogram;
}

const outcomeOf = ({ latency, service, ...counts }: Total): Outcome => ({
  ...counts,
  errors: { ...counts.errors },
  unfinished: counts.scheduled - counts.succeeded - counts.failed,
  latency: encoded(latency),
  service: encoded(service),
});
