/**
 * Reports as a load test would write them, from a simulated target: one queue whose service takes
 * an exponential time, with a pause of all requests now and then. So latencies are correlated, and
 * rise where the rate nears the capacity.
 */
import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { Random } from '../../loadtest/random.ts';
import type { LoadReport, Objective, Outcome, Step, Window } from '../../loadtest/report.ts';

export type ReportOptions = {
  readonly seed?: number;
  readonly rates?: readonly number[];
  readonly seconds?: number;
  readonly mix?: Readonly<Record<string, number>>;
  /** mean time of service, ms, by workload; default 2 */
  readonly serviceMs?: number;
  /** of each request, 0 to 1 */
  readonly errorShare?: number;
  /** every how many seconds all requests wait, and how long, ms */
  readonly pauseEverySec?: number;
  readonly pauseMs?: number;
  readonly objectives?: readonly Objective[];
  readonly label?: string;
  readonly arrival?: 'poisson' | 'constant';
};

const MS_OF_SECOND = 1_000;

type Samples = { latency: number[]; service: number[]; scheduled: number; failed: number };

export function loadReport(options: ReportOptions = {}): LoadReport {
  const { rates = [50], mix = { run: 0.7, chat: 0.3 }, objectives = [], label } = options;
  const random = new Random(options.seed ?? 1);
  const steps = rates.map((rate) => stepOf(rate, mix, options, random));
  const met = steps.filter(({ missed }) => missed.length === 0);
  const sustained = Math.max(0, ...met.map(({ ratePerSecond }) => ratePerSecond));
  return {
    format: 'troupe-load-report',
    version: 1,
    startedAt: '2026-11-29T13:00:00.000Z',
    ...(label === undefined ? {} : { label }),
    command: `troupe bench --rate ${rates.join(',')}`,
    target: { url: 'ws://127.0.0.1:18789', kind: 'own', version: '0.1.0' },
    machine: {
      cpu: 'AMD EPYC',
      cores: 2,
      memoryBytes: 25 * 2 ** 30,
      os: 'Linux 6.18',
      node: '20.20.2',
      shared: true,
    },
    plan: {
      mix: { ...mix },
      arrival: options.arrival ?? 'poisson',
      warmupSeconds: 5,
      seed: options.seed ?? 1,
      objectives: [...objectives],
      model: 'latency=20ms',
    },
    steps,
    ...(objectives.length > 0 && sustained > 0 ? { sustainedPerSecond: sustained } : {}),
  };
}

function stepOf(
  rate: number,
  mix: Readonly<Record<string, number>>,
  options: ReportOptions,
  random: Random,
): Step {
  const { seconds = 30, objectives = [] } = options;
  const names = Object.keys(mix);
  const windows = Array.from({ length: seconds }, () => new Map<string, Samples>());
  const simulate = queue(options, random);
  for (let at = random.exponential(MS_OF_SECOND / rate); at < seconds * MS_OF_SECOND; ) {
    const name = pick(names, mix, random);
    const samples = samplesOf(windows[Math.floor(at / MS_OF_SECOND)]!, name);
    const { latency, service } = simulate(at);
    samples.scheduled++;
    if (random.next() < (options.errorShare ?? 0)) samples.failed++;
    else {
      samples.latency.push(latency);
      samples.service.push(service);
    }
    at += random.exponential(MS_OF_SECOND / rate);
  }
  const total = new Map<string, Samples>();
  for (const window of windows)
    for (const [name, samples] of window) {
      const sum = samplesOf(total, name);
      sum.latency.push(...samples.latency);
      sum.service.push(...samples.service);
      sum.scheduled += samples.scheduled;
      sum.failed += samples.failed;
    }
  const busy = Math.min(1, (rate * (options.serviceMs ?? 2)) / MS_OF_SECOND);
  const all = histogramOf([...total.values()].flatMap(({ latency }) => latency));
  const missed = objectives.flatMap((objective) => {
    const measured = measured99(all);
    return measured > objective.atMost ? [{ objective, measured }] : [];
  });
  return {
    ratePerSecond: rate,
    seconds,
    workloads: outcomesOf(total),
    windows: windows.map((window, at) => windowOf(window, at, busy)),
    missed,
    limit:
      busy > 0.9
        ? {
            what: 'event-loop',
            because: `the event loop of gateway was busy ${Math.round(busy * 100)} % of the time`,
          }
        : {
            what: 'none',
            because: `all processes were busy at most ${Math.round(busy * 100)} % of the time`,
          },
  };
}

const measured99 = (histogram: Histogram) => histogram.getValueAtPercentile(99) / MS_OF_SECOND;

/** One server, first in, first out. The client sends at most 1 ms late. */
function queue(options: ReportOptions, random: Random) {
  const { serviceMs = 2, pauseEverySec, pauseMs = 0 } = options;
  let freeAt = 0;
  let nextPause =
    pauseEverySec === undefined ? Number.POSITIVE_INFINITY : pauseEverySec * MS_OF_SECOND;
  return (at: number) => {
    const sent = at + random.next();
    if (sent >= nextPause) {
      freeAt = Math.max(freeAt, nextPause + pauseMs);
      nextPause += pauseEverySec! * MS_OF_SECOND;
    }
    freeAt = Math.max(sent, freeAt) + random.exponential(serviceMs);
    return { latency: freeAt - at, service: freeAt - sent };
  };
}

function pick(
  names: readonly string[],
  mix: Readonly<Record<string, number>>,
  random: Random,
): string {
  let left = random.next();
  return names.find((name) => (left -= mix[name]!) < 0) ?? names[0]!;
}

function samplesOf(map: Map<string, Samples>, name: string): Samples {
  const samples = map.get(name) ?? { latency: [], service: [], scheduled: 0, failed: 0 };
  map.set(name, samples);
  return samples;
}

function windowOf(window: ReadonlyMap<string, Samples>, at: number, busy: number): Window {
  return {
    at,
    seconds: 1,
    workloads: outcomesOf(window),
    processes: {
      client: { cpu: busy / 4, eventLoop: busy / 4, memoryBytes: 90 * 2 ** 20 },
      gateway: {
        cpu: busy,
        eventLoop: busy,
        eventLoopDelayMs: 3 + (at % 5),
        memoryBytes: (150 + at) * 2 ** 20,
        storeMs: 0.2 + (at % 3) / 10,
      },
    },
  };
}

const outcomesOf = (samples: ReadonlyMap<string, Samples>): Record<string, Outcome> =>
  Object.fromEntries([...samples].map(([name, each]) => [name, outcomeOf(each)]));

const outcomeOf = ({ latency, service, scheduled, failed }: Samples): Outcome => ({
  scheduled,
  succeeded: latency.length,
  failed,
  unfinished: 0,
  errors: failed > 0 ? { UNAVAILABLE: failed } : {},
  latency: encodeIntoCompressedBase64(histogramOf(latency)),
  service: encodeIntoCompressedBase64(histogramOf(service)),
});

export function histogramOf(samples: readonly number[]): Histogram {
  const histogram = build({
    bitBucketSize: 32,
    autoResize: true,
    numberOfSignificantValueDigits: 3,
  });
  for (const ms of samples) histogram.recordValue(Math.max(1, Math.round(ms * MS_OF_SECOND)));
  return histogram;
}
