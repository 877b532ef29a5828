/**
 * The report of a load test: one JSON file, written by `troupe bench`, read by its table, its HTML
 * page, `troupe bench compare` and `troupe bench check`. A field keeps its meaning; new fields are
 * optional; a change of meaning raises `version`.
 *
 * All latencies are in histograms of HdrHistogram in whole microseconds, compressed and in base64
 * (`HistogramLogWriter`'s format), so that other tools read them and windows can be added up
 * exactly.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../protocols/any-key.ts';

/** A compressed HdrHistogram of microseconds in base64. Precision: 3 significant digits. */
const Histogram = Type.String({ minLength: 1 });

/** What one workload did in one window, or one step, of the test. */
const Outcome = Type.Object({
  /** requests that were due in this window */
  scheduled: Type.Integer({ minimum: 0 }),
  succeeded: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
  /** neither answered nor failed when the step and its grace period had ended */
  unfinished: Type.Integer({ minimum: 0 }),
  /** failures by error code, for instance `UNAVAILABLE` or `TIMEOUT` */
  errors: Type.Record(AnyKey, Type.Integer({ minimum: 1 })),
  /** of those that succeeded: from the time at which the request was due, so that waiting in the
   * client counts (no coordinated omission) */
  latency: Histogram,
  /** of those that succeeded: from the time at which the request was sent */
  service: Histogram,
});
export type Outcome = Static<typeof Outcome>;

/** One sample of the load of a process, over the window that ends with it. */
const Usage = Type.Object({
  /** share of one core; 1 is one core */
  cpu: Type.Optional(Type.Number({ minimum: 0 })),
  /** share of the time in which the event loop was busy, 0 to 1 */
  eventLoop: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** longest delay of the event loop, ms */
  eventLoopDelayMs: Type.Optional(Type.Number({ minimum: 0 })),
  memoryBytes: Type.Optional(Type.Integer({ minimum: 0 })),
  /** time of an append, sync or publish to the store, ms, mean */
  storeMs: Type.Optional(Type.Number({ minimum: 0 })),
});
export type Usage = Static<typeof Usage>;

const Window = Type.Object({
  /** start, in seconds since the start of the step */
  at: Type.Number({ minimum: 0 }),
  seconds: Type.Number({ exclusiveMinimum: 0 }),
  /** by workload */
  workloads: Type.Record(AnyKey, Outcome),
  /** by process: `client` is the load generator; others as the installation names them */
  processes: Type.Record(AnyKey, Usage),
});
export type Window = Static<typeof Window>;

/** What limited the result, with the figures that say so. */
const Limit = Type.Object({
  what: Type.Union(
    (
      ['none', 'client', 'event-loop', 'cpu', 'disk', 'nats', 'model', 'quota', 'unknown'] as const
    ).map((what) => Type.Literal(what)),
  ),
  /** one sentence with the measured figures */
  because: Type.String({ minLength: 1 }),
});
export type Limit = Static<typeof Limit>;

/** A condition that a step must meet, for instance `p99 <= 500 ms of chat`. */
const Objective = Type.Object({
  /** `p50`, `p90`, `p99`, `p999`, `max` (ms), or `errors` (share of all requests, 0 to 1) */
  figure: Type.Union(
    (['p50', 'p90', 'p99', 'p999', 'max', 'errors'] as const).map((figure) => Type.Literal(figure)),
  ),
  atMost: Type.Number({ minimum: 0 }),
  /** default: all workloads together */
  workload: Type.Optional(Type.String()),
});
export type Objective = Static<typeof Objective>;

const Step = Type.Object({
  /** requests that were due per second, all workloads together */
  ratePerSecond: Type.Number({ exclusiveMinimum: 0 }),
  seconds: Type.Number({ exclusiveMinimum: 0 }),
  /** without the warm-up, by workload */
  workloads: Type.Record(AnyKey, Outcome),
  windows: Type.Array(Window),
  /** each objective that was missed: what was measured instead */
  missed: Type.Array(Type.Object({ objective: Objective, measured: Type.Number() })),
  limit: Limit,
});
export type Step = Static<typeof Step>;

export const LoadReport = Type.Object({
  format: Type.Literal('troupe-load-report'),
  version: Type.Literal(1),
  /** ISO 8601 */
  startedAt: Type.String(),
  /** `--label` */
  label: Type.Optional(Type.String()),
  /** the command line that made it, without credentials */
  command: Type.Optional(Type.String()),
  target: Type.Object({
    /** without credentials */
    url: Type.String(),
    /** `own` was started for this test and removed after it */
    kind: Type.Union((['own', 'embedded', 'cluster'] as const).map((kind) => Type.Literal(kind))),
    version: Type.String(),
  }),
  /** of the load generator */
  machine: Type.Object({
    cpu: Type.String(),
    cores: Type.Integer({ minimum: 1 }),
    memoryBytes: Type.Integer({ minimum: 1 }),
    os: Type.String(),
    node: Type.String(),
    /** whether the target runs on this machine, too, and shares its cores */
    shared: Type.Boolean(),
  }),
  plan: Type.Object({
    /** share of each workload, by name; they add up to 1 */
    mix: Type.Record(AnyKey, Type.Number({ exclusiveMinimum: 0 })),
    arrival: Type.Union((['poisson', 'constant'] as const).map((arrival) => Type.Literal(arrival))),
    warmupSeconds: Type.Number({ minimum: 0 }),
    seed: Type.Integer({ minimum: 0 }),
    objectives: Type.Array(Objective),
    /** the scripted model, when the test had one, as it was written on the command line */
    model: Type.Optional(Type.String()),
  }),
  steps: Type.Array(Step, { minItems: 1 }),
  /** stopped by a signal: the last step is shorter than planned */
  interrupted: Type.Optional(Type.Boolean()),
  /** highest rate whose step met all objectives; absent: none did, or there were none */
  sustainedPerSecond: Type.Optional(Type.Number()),
});
export type LoadReport = Static<typeof LoadReport>;
