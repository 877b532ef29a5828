/** The plots of a report. */
import type { LoadReport, Outcome, Step, Usage } from '../report.ts';
import {
  figures,
  figuresOf,
  numberText,
  objectiveText,
  outcomesOf,
  percentText,
  sumOf,
  workloadsOf,
} from './figures.ts';
import type { Latencies } from './latencies.ts';
import type { Axis, Plot, Point, Series } from './plot.ts';

/** `0.2 ms`, `12 ms`, `3 s` */
export const timeText = (ms: number): string =>
  ms >= 1_000 ? `${numberText(ms / 1_000)} s` : `${numberText(ms)} ms`;

const rateText = (rate: number): string => `${numberText(rate)}/s`;
const latencyAxis: Axis = { label: 'latency', scale: 'log', text: timeText };

/** Several windows of one step together, so that a long test has few points. */
type Slice = {
  /** middle, in seconds since the start of the first step, without warm-up and pauses */
  readonly at: number;
  readonly seconds: number;
  readonly outcomes: ReadonlyMap<string, readonly Outcome[]>;
  readonly usages: ReadonlyMap<string, readonly Usage[]>;
};

const SLICES_MAX = 120;

/** By step. */
function slicesOf({ steps }: LoadReport): readonly (readonly Slice[])[] {
  const count = steps.reduce((sum, { windows }) => sum + windows.length, 0);
  const size = Math.max(1, Math.ceil(count / SLICES_MAX));
  let start = 0;
  return steps.map((step) => {
    const slices: Slice[] = [];
    for (let n = 0; n < step.windows.length; n += size)
      slices.push(sliceOf(step.windows.slice(n, n + size), start));
    start += step.seconds;
    return slices;
  });
}

function sliceOf(windows: Step['windows'], start: number): Slice {
  const seconds = windows.reduce((sum, window) => sum + window.seconds, 0);
  const outcomes = new Map<string, Outcome[]>();
  const usages = new Map<string, Usage[]>();
  for (const window of windows) {
    for (const [name, outcome] of Object.entries(window.workloads))
      outcomes.set(name, [...(outcomes.get(name) ?? []), outcome]);
    for (const [name, usage] of Object.entries(window.processes))
      usages.set(name, [...(usages.get(name) ?? []), usage]);
  }
  return { at: start + windows[0]!.at + seconds / 2, seconds, outcomes, usages };
}

type Timeline = {
  readonly slices: readonly (readonly Slice[])[];
  readonly x: Axis;
  readonly marks: Plot['marks'] & object;
};

function timelineOf(report: LoadReport): Timeline {
  let start = 0;
  const marks = report.steps.map(({ ratePerSecond, seconds }) => {
    const mark = { x: start, name: rateText(ratePerSecond) };
    start += seconds;
    return mark;
  });
  const text = (value: number) => `${numberText(value)} s`;
  const x: Axis = { label: 'time', scale: 'linear', text, max: start };
  return { slices: slicesOf(report), x, marks: marks.length > 1 ? marks : [] };
}

/** @param value undefined: no point */
const over = (
  { slices }: Timeline,
  name: string,
  style: number,
  value: (slice: Slice) => number | undefined,
): Series => ({
  name,
  style,
  lines: slices.map((step) =>
    step.flatMap((slice): Point[] => {
      const y = value(slice);
      return y === undefined ? [] : [[slice.at, y]];
    }),
  ),
});

/** The plots in the order of the page. Those without a point are left out when they are drawn. */
export function plotsOf(report: LoadReport): readonly Plot[] {
  const timeline = timelineOf(report);
  const workloads = workloadsOf(report);
  return [
    ...(report.steps.length > 1 ? [rampPlot(report)] : []),
    latencyPlot(timeline, undefined),
    ratePlot(timeline),
    percentilePlot(report),
    ...(workloads.length > 1 ? workloads.map((name) => latencyPlot(timeline, name)) : []),
    errorPlot(report, timeline),
    ...usagePlots(timeline),
  ];
}

function rampPlot(report: LoadReport): Plot {
  const steps = report.steps.toSorted((a, b) => a.ratePerSecond - b.ratePerSecond);
  const names = ['p50', 'p99', 'max'] as const;
  const series = names.map((name, n): Series => {
    const points = steps.flatMap((step): Point[] => {
      const y = figuresOf(step)[0]!.latency[name];
      return y === undefined ? [] : [[step.ratePerSecond, y]];
    });
    return { name, style: n, lines: [points] };
  });
  const limits = report.plan.objectives
    .filter(({ figure, workload }) => figure !== 'errors' && workload === undefined)
    .map((objective) => ({ y: objective.atMost, name: objectiveText(objective) }));
  const named = limits.map(({ name }) => name).join(', ');
  return {
    title: 'Latency by rate',
    note: `All workloads, one point for each step.${named === '' ? '' : ` Objective: ${named}.`} Where the line turns up, the target has reached its capacity.`,
    x: { label: 'requests due per second', scale: 'linear', text: numberText },
    y: latencyAxis,
    series,
    limits,
  };
}

function latencyPlot(timeline: Timeline, workload: string | undefined): Plot {
  const { slices, x, marks } = timeline;
  const sums = new Map<Slice, Latencies>(
    slices.flat().map((slice) => [slice, sumOf(outcomesIn(slice, workload), 'latency')]),
  );
  const at = (p: number) => (slice: Slice) => sums.get(slice)?.at(p);
  return {
    title: workload === undefined ? 'Latency over time' : `Latency of ${workload} over time`,
    note: `From the time at which a request was due${workload === undefined ? ', all workloads' : ''}.${marks.length > 0 ? ' The vertical lines are the steps.' : ''}`,
    x,
    y: latencyAxis,
    marks,
    series: [
      over(timeline, 'p50', 0, at(0.5)),
      over(timeline, 'p99', 1, at(0.99)),
      over(timeline, 'max', 2, at(1)),
    ],
  };
}

const outcomesIn = ({ outcomes }: Slice, workload: string | undefined): readonly Outcome[] =>
  workload === undefined ? [...outcomes.values()].flat() : (outcomes.get(workload) ?? []);

function ratePlot(timeline: Timeline): Plot {
  const { x, marks } = timeline;
  const of = (slice: Slice) => figures('', outcomesIn(slice, undefined), slice.seconds);
  return {
    title: 'Requests due, done and failed',
    note: 'A request counts at the time at which it was due. Failed includes those that did not end in time.',
    x,
    y: { label: 'per second', scale: 'linear', text: numberText },
    marks,
    series: [
      over(timeline, 'done', 0, (slice) => of(slice).donePerSecond),
      over(timeline, 'due', 11, (slice) => of(slice).duePerSecond),
      over(timeline, 'failed', 4, (slice) => of(slice).errorShare * of(slice).duePerSecond),
    ],
  };
}

const LINES_MAX = 6;

/** One line for each step; of one step, one for each workload and one for the service time. */
function percentilePlot({ steps }: LoadReport): Plot {
  const [only] = steps;
  const lines: [string, Latencies][] =
    steps.length > 1
      ? chosen(steps).map((step) => [
          rateText(step.ratePerSecond),
          sumOf(Object.values(step.workloads), 'latency'),
        ])
      : linesOf(only!);
  return {
    title: 'Latency by percentile',
    note: `How many requests took at most how long; each mark to the right is ten times rarer.${steps.length > 1 ? ' One line for each step, all workloads.' : ''}`,
    ...percentileAxes(lines.map(([, latencies]) => latencies)),
    series: lines.map(([name, latencies], style) => ({
      name,
      style,
      lines: [percentilePoints(latencies)],
    })),
  };
}

function linesOf(step: Step): [string, Latencies][] {
  const names = Object.keys(step.workloads).toSorted();
  const all = Object.values(step.workloads);
  const each = names.length === 1 ? [] : names.slice(0, LINES_MAX);
  return [
    ['latency, all', sumOf(all, 'latency')],
    ['service time, all', sumOf(all, 'service')],
    ...each.map((name): [string, Latencies] => [name, sumOf(outcomesOf(step, name), 'latency')]),
  ];
}

/** The first, the last, and others at equal distances. */
function chosen(steps: readonly Step[]): readonly Step[] {
  if (steps.length <= LINES_MAX) return steps;
  const places = Array.from({ length: LINES_MAX }, (_, n) =>
    Math.round((n * (steps.length - 1)) / (LINES_MAX - 1)),
  );
  return places.map((place) => steps[place]!);
}

/** x is 1 / (1 - p): 1 request in x is slower. */
export function percentileAxes(all: readonly Latencies[]): Pick<Plot, 'x' | 'y'> {
  const most = Math.max(10, ...all.map(({ total }) => total));
  const text = (value: number) =>
    value <= 1 ? 'p0' : `p${Number((100 - 100 / value).toPrecision(8))}`;
  const ticks = [2, 10, 100, 1_000, 10_000, 100_000, 1_000_000].filter((tick) => tick <= most);
  return {
    x: { label: 'percentile', scale: 'log', text, ticks, max: most },
    y: latencyAxis,
  };
}

const POINTS_OF_A_DECADE = 12;
/** The fastest tenth is left out. */
const FIRST_X = 1 / 0.9;

/** Up to the percentile that the number of requests supports. */
export function percentilePoints(latencies: Latencies): readonly Point[] {
  if (latencies.total === 0) return [];
  const decades = Math.log10(latencies.total / FIRST_X);
  const count = Math.max(1, Math.ceil(decades * POINTS_OF_A_DECADE));
  return Array.from({ length: count + 1 }, (_, n): Point => {
    const x = FIRST_X * (latencies.total / FIRST_X) ** (n / count);
    return [x, latencies.at(1 - 1 / x)!];
  });
}

function errorPlot({ steps }: LoadReport, timeline: Timeline): Plot {
  const codes = [
    ...new Set(steps.flatMap((step) => Object.keys(figuresOf(step)[0]!.errors))),
  ].slice(0, LINES_MAX);
  const of = (slice: Slice) => figures('', outcomesIn(slice, undefined), slice.seconds);
  const hasUnfinished = steps.some((step) => figuresOf(step)[0]!.unfinished > 0);
  const unfinished = over(
    timeline,
    'not ended in time',
    10,
    (slice) => of(slice).unfinished / slice.seconds,
  );
  return {
    title: 'Errors',
    note: 'By code, at the time at which the request was due.',
    x: timeline.x,
    y: { label: 'per second', scale: 'linear', text: numberText },
    marks: timeline.marks,
    series: [
      ...codes.map((code, n) =>
        over(timeline, code, n, (slice) => (of(slice).errors[code] ?? 0) / slice.seconds),
      ),
      ...(hasUnfinished ? [unfinished] : []),
    ],
  };
}

type UsagePlot = {
  readonly field: keyof Usage;
  readonly title: string;
  readonly note: string;
  readonly y: Axis;
};

const MB = 1e6;
const usagePlotKinds: readonly UsagePlot[] = [
  {
    field: 'cpu',
    title: 'Processor by process',
    note: '100 % is one core. When the client is near 100 %, the load generator limits the test.',
    y: { label: 'share of a core', scale: 'linear', text: percentText },
  },
  {
    field: 'eventLoop',
    title: 'Event loop by process',
    note: 'The share of time in which the JavaScript thread was busy. Near 100 % each further request waits.',
    y: {
      label: 'busy',
      scale: 'linear',
      text: percentText,
      max: 1,
      ticks: [0, 0.25, 0.5, 0.75, 1],
    },
  },
  {
    field: 'eventLoopDelayMs',
    title: 'Longest delay of the event loop',
    note: 'The longest time for which the process handled nothing else.',
    y: { label: 'delay', scale: 'linear', text: timeText },
  },
  {
    field: 'storeMs',
    title: 'Time of the store',
    note: 'Mean time of an append, a sync or a publish.',
    y: { label: 'mean', scale: 'linear', text: timeText },
  },
  {
    field: 'memoryBytes',
    title: 'Memory by process',
    note: 'When it rises through a step of constant rate, the process retains something.',
    y: { label: 'memory', scale: 'linear', text: (value) => `${numberText(value / MB)} MB` },
  },
];

function usagePlots(timeline: Timeline): readonly Plot[] {
  const names = [
    ...new Set(timeline.slices.flat().flatMap(({ usages }) => [...usages.keys()])),
  ].toSorted();
  return usagePlotKinds.map(({ field, ...plot }) => ({
    ...plot,
    x: timeline.x,
    marks: timeline.marks,
    series: names.map((name, style) =>
      over(timeline, name, style, ({ usages }) => meanOf(usages.get(name) ?? [], field)),
    ),
  }));
}

/** Of delays, the longest. */
function meanOf(usages: readonly Usage[], field: keyof Usage): number | undefined {
  const values = usages.flatMap((usage) => usage[field] ?? []);
  if (values.length === 0) return undefined;
  if (field === 'eventLoopDelayMs') return Math.max(...values);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
