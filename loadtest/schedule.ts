/**
 * When each request of a step is due, and what it is. The schedule is made before and without the
 * answers (open loop), and is a pure function of its options.
 */
import { Random } from './random.ts';

export type ScheduleOptions = {
  /** requests per second, all workloads together */
  readonly ratePerSecond: number;
  readonly seconds: number;
  /** `poisson`: independent users; `constant`: equal distances */
  readonly arrival: 'poisson' | 'constant';
  /** share of each workload, by name; they add up to 1 */
  readonly mix: Readonly<Record<string, number>>;
  readonly seed: number;
};

export type Arrival = {
  /** since the start of the step */
  readonly atMs: number;
  readonly workload: string;
};

/** In order of time. */
export function* arrivals(options: ScheduleOptions): Generator<Arrival, void, undefined> {
  const { ratePerSecond, seconds, arrival, mix, seed } = options;
  const random = new Random(seed);
  const meanMs = 1_000 / ratePerSecond;
  const endMs = seconds * 1_000;
  for (let n = 0, atMs = 0; ; n++) {
    atMs = arrival === 'constant' ? n * meanMs : atMs + random.exponential(meanMs);
    if (atMs >= endMs) return;
    yield { atMs, workload: chosen(mix, random.next()) };
  }
}

function chosen(mix: Readonly<Record<string, number>>, point: number): string {
  let sum = 0;
  let last = '';
  for (const [name, share] of Object.entries(mix)) {
    sum += share;
    last = name;
    if (point < sum) return name;
  }
  return last;
}
