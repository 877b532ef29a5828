/**
 * Metrics: the counters of one process in Prometheus' text format: the four of the communication
 * rules with the labels action, tenant, principal, status and error_code, whose number of series is
 * bounded (cardinality.ts); those of the process; and what the runtime reports on request.
 *
 * Every process counts its own work: requests at the gateway that answered them, retries and dead
 * letters at the worker that ran the task. Reports that are repeated after a crash may count twice.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ERRORS } from '../../protocols/errors.ts';
import { TASK_STATES } from '../../protocols/task.ts';
import type { System } from '../system.ts';
import { type Labels, OTHER, SeriesBound, Vocabulary } from './cardinality.ts';
import { addGauge, addGaugeBy, type ReadNumber } from './gauges.ts';
import { type Exemplar, OPEN_METRICS_TYPE, openMetricsText } from './open-metrics.ts';
import { isTraced } from './spans.ts';
import { type Watched, watchSystem } from './system-gauges.ts';

/** The outcome of one envelope, at the entry point that answered it. */
export type RequestFacts = {
  /** absent when it could not be read */
  readonly action?: string | undefined;
  readonly tenant?: string | undefined;
  readonly principal?: string | undefined;
  /** state of the task in the answer, or `REFUSED` */
  readonly status: string;
  readonly errorCode?: string | undefined;
  /** refused because its `seq` was not above the last one */
  readonly seqRefused?: boolean;
  /** from the envelope's last byte to the answer, milliseconds; a synchronous answer waits */
  readonly latencyMs: number;
  /** of it, until the task was accepted durably; absent when nothing was accepted */
  readonly ackMs?: number | undefined;
  /** share of the caller's nearest quota that is used, 0 to 1 */
  readonly quotaUsed?: number | undefined;
  /** 32 hex digits */
  readonly traceId?: string | undefined;
};

/** The outcome of a task's work. */
export type WorkLabels = {
  readonly action: string;
  readonly tenant: string;
  readonly principal: string;
  readonly errorCode: string;
};

export type AckTimes = {
  /** answers that were measured */
  readonly count: number;
  /** milliseconds; interpolated within its bucket; 10,000 means at least that */
  readonly p95Ms: number;
  /** epoch milliseconds: what came before is not in it */
  readonly since: number;
};

export interface Metrics {
  request(facts: RequestFacts): void;
  retry(labels: WorkLabels): void;
  deadLetter(labels: WorkLabels): void;
  /** Shards, their mail and this process's load, read at each scrape. */
  watch(system: Pick<System, 'status' | 'nodes'>, watched?: Watched): void;
  /** This worker owns a shard from now on. `given`: another worker handed it over. */
  shardTaken(given: boolean): void;
  /** This worker tried to own a shard and could not. */
  shardTakeFailed(): void;
  /**
   * A number that is read at each scrape, at most once in `everyMs` (default 0). A read that fails
   * is NaN. @throws Error when the name is taken
   */
  gauge(name: string, help: string, read: ReadNumber, everyMs?: number): void;
  /** A number for each value of a label. @throws Error when the name is taken */
  gaugeBy(
    gauge: { readonly name: string; readonly help: string; readonly label: string },
    read: () => Readonly<Record<string, number>>,
  ): void;
  /** How long acceptance took at this process; undefined before the first. */
  ack(): AckTimes | undefined;
  /** In Prometheus' text format 0.0.4, or as OpenMetrics, where metrics name traces. */
  text(format?: 'openmetrics'): Promise<string>;
  readonly contentType: string;
  readonly openMetricsType: string;
}

export type MetricsOptions = {
  /** whether an agent offers the action; other actions are counted as `other`. Default: all */
  readonly isOffered?: (action: string) => boolean;
  /** epoch milliseconds */
  readonly now?: () => number;
  /** memory, CPU, garbage collection and event loop of the process; default true */
  readonly process?: boolean;
};

/** Values of a label that keep their name. */
export const LABEL_VALUES_MAX = { action: 200, tenant: 100, principal: 100 } as const;
/** Sets of labels of a counter, and of the histogram, which has a line for each bucket. */
export const SERIES_MAX = { counter: 2_000, histogram: 200, folded: 200 } as const;

const BUCKETS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
const BUCKET_MS_MAX = 10_000;
/** Each sample of the event loop's delay wakes the process, so an idle one takes few. */
const LAG_EVERY_MS = 100;
const LABELS = ['action', 'tenant', 'principal', 'status', 'error_code'] as const;
const STATUSES: ReadonlySet<string> = new Set([...TASK_STATES, 'REFUSED']);

/** A registry of its own for each call: two in one process do not add up. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const now = options.now ?? Date.now;
  if (options.process ?? true)
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
  const counters = new Counters(registry, options.isOffered ?? (() => true));
  const ack = new AckHistogram(registry, now);
  const takeovers = new Takeovers(registry);
  return {
    request(facts) {
      counters.request(facts);
      if (facts.ackMs !== undefined) ack.add(facts.ackMs, facts.traceId);
    },
    retry: (labels) => counters.work('retries', labels),
    deadLetter: (labels) => counters.work('deadLetters', labels),
    watch: (system, watched = {}) => watchSystem(registry, system, watched),
    shardTaken: (given) => takeovers.taken(given),
    shardTakeFailed: () => takeovers.failed(),
    gauge: (name, help, read, everyMs) => addGauge(registry, { name, help }, read, everyMs),
    gaugeBy: (gauge, read) => addGaugeBy(registry, gauge, read),
    ack: () => ack.times(),
    async text(format) {
      const text = (await registry.metrics()).replace(/ Nan$/gm, ' NaN');
      return format === undefined ? text : openMetricsText(text, ack.exemplars);
    },
    contentType: registry.contentType,
    openMetricsType: OPEN_METRICS_TYPE,
  };
}

class Counters {
  readonly #isOffered: (action: string) => boolean;
  readonly #actions = new Vocabulary(LABEL_VALUES_MAX.action);
  readonly #tenants = new Vocabulary(LABEL_VALUES_MAX.tenant);
  readonly #principals = new Vocabulary(LABEL_VALUES_MAX.principal);
  readonly #requests: BoundedCounter;
  readonly #seqRefused: BoundedCounter;
  readonly #work: Readonly<Record<'retries' | 'deadLetters', BoundedCounter>>;
  readonly #latency: Histogram<(typeof LABELS)[number]>;
  readonly #latencyBound = new SeriesBound(SERIES_MAX.histogram, SERIES_MAX.folded);
  readonly #quota: Gauge<'tenant' | 'principal'>;

  constructor(registry: Registry, isOffered: (action: string) => boolean) {
    this.#isOffered = isOffered;
    this.#requests = new BoundedCounter(registry, 'a2a_requests_total', 'envelopes answered');
    this.#seqRefused = new BoundedCounter(
      registry,
      'a2a_seq_refused_total',
      'envelopes refused because their seq was not above the last one',
    );
    this.#work = {
      retries: new BoundedCounter(registry, 'a2a_retries_total', 'retried attempts'),
      deadLetters: new BoundedCounter(registry, 'a2a_dlq_total', 'tasks moved to the dead letters'),
    };
    this.#latency = new Histogram({
      name: 'a2a_latency_ms',
      help: 'from an envelope to its answer, milliseconds; synchronous answers wait up to 2 s',
      labelNames: LABELS,
      buckets: BUCKETS_MS,
      registers: [registry],
    });
    this.#quota = new Gauge({
      name: 'a2a_quota_used_ratio',
      help: 'share of the nearest quota that was used at the last envelope, 0 to 1',
      labelNames: ['tenant', 'principal'],
      registers: [registry],
    });
  }

  request(facts: RequestFacts): void {
    const { status, errorCode = '' } = facts;
    // Unauthenticated callers may not use up the label values of authenticated ones.
    const learn = errorCode !== 'UNAUTHORIZED' && errorCode !== 'FORBIDDEN';
    const labels = {
      // nor may names of actions that no agent offers
      action: this.#action(facts.action, learn && errorCode !== 'NOT_FOUND'),
      tenant: this.#tenants.fold(facts.tenant, { learn }),
      principal: this.#principals.fold(facts.principal, { learn }),
      status: STATUSES.has(status) ? status : OTHER,
      error_code: codeOf(errorCode),
    };
    this.#requests.inc(labels);
    if (facts.seqRefused) this.#seqRefused.inc(labels);
    this.#latency.observe(this.#latencyBound.fold(labels), facts.latencyMs);
    if (facts.quotaUsed === undefined) return;
    const { tenant, principal } = labels;
    this.#quota.set({ tenant, principal }, facts.quotaUsed);
  }

  work(what: 'retries' | 'deadLetters', labels: WorkLabels): void {
    this.#work[what].inc({
      action: this.#action(labels.action, true),
      tenant: this.#tenants.fold(labels.tenant),
      principal: this.#principals.fold(labels.principal),
      status: what === 'retries' ? 'RUNNING' : 'FAILED',
      error_code: codeOf(labels.errorCode),
    });
  }

  #action(action: string | undefined, learn: boolean): string {
    const isOffered = action !== undefined && this.#isOffered(action);
    return this.#actions.fold(action, { learn: learn && isOffered });
  }
}

const codeOf = (code: string): string =>
  code === '' || Object.hasOwn(ERRORS, code) ? code : OTHER;

class BoundedCounter {
  readonly #counter: Counter<(typeof LABELS)[number]>;
  readonly #bound = new SeriesBound(SERIES_MAX.counter, SERIES_MAX.folded);

  constructor(registry: Registry, name: string, help: string) {
    this.#counter = new Counter({ name, help, labelNames: LABELS, registers: [registry] });
  }

  inc(labels: Labels): void {
    this.#counter.inc(this.#bound.fold(labels));
  }
}

/**
 * How shards came to this process. Both series exist from the start, so that rates see the first.
 */
class Takeovers {
  readonly #taken: Counter<'reason'>;
  readonly #failed: Counter;

  constructor(registry: Registry) {
    this.#taken = new Counter({
      name: 'troupe_shard_takeovers_total',
      help: 'shards that this worker took: handed over by another, or without an owner',
      labelNames: ['reason'],
      registers: [registry],
    });
    this.#failed = new Counter({
      name: 'troupe_shard_takeovers_failed_total',
      help: 'attempts to take a shard that failed',
      registers: [registry],
    });
    for (const reason of ['handed_over', 'unowned']) this.#taken.inc({ reason }, 0);
  }

  taken(given: boolean): void {
    this.#taken.inc({ reason: given ? 'handed_over' : 'unowned' });
  }

  failed(): void {
    this.#failed.inc();
  }
}

/** Without labels, so that one number describes the whole process. */
class AckHistogram {
  readonly #since: number;
  /** how many fell into each bucket; the last holds what is beyond them */
  readonly #counts = new Array<number>(BUCKETS_MS.length + 1).fill(0);
  readonly #histogram: Histogram;

  readonly #now: () => number;
  /** the last traced observation of each bucket */
  readonly exemplars = new Map<string, Exemplar>();

  constructor(registry: Registry, now: () => number) {
    this.#since = now();
    this.#now = now;
    this.#histogram = new Histogram({
      name: 'troupe_ack_ms',
      help: 'from an envelope to its durable acceptance, milliseconds',
      buckets: BUCKETS_MS,
      registers: [registry],
    });
  }

  add(ms: number, traceId: string | undefined): void {
    this.#histogram.observe(ms);
    const bucket = BUCKETS_MS.findIndex((bound) => ms <= bound);
    this.#counts[bucket < 0 ? BUCKETS_MS.length : bucket]!++;
    if (traceId === undefined || !isTraced()) return;
    const line = `troupe_ack_ms_bucket{le="${BUCKETS_MS[bucket] ?? '+Inf'}"}`;
    this.exemplars.set(line, { traceId, value: ms, at: this.#now() });
  }

  times(): AckTimes | undefined {
    const count = this.#counts.reduce((sum, one) => sum + one, 0);
    if (count === 0) return undefined;
    return { count, p95Ms: quantile(this.#counts, 0.95 * count), since: this.#since };
  }
}

function quantile(counts: readonly number[], rank: number): number {
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (below + count < rank) {
      below += count;
      continue;
    }
    const high = BUCKETS_MS[index] ?? BUCKET_MS_MAX;
    const low = BUCKETS_MS[index - 1] ?? 0;
    return low + ((high - low) * (rank - below)) / count;
  }
  return BUCKET_MS_MAX;
}
