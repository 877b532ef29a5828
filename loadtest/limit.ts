/**
 * What limited a step, from its outcomes and the load of the processes. A pure function: the first
 * cause that the figures show, in the order in which one hides the next.
 */
import type { Limit, Objective, Outcome, Usage } from './report.ts';
import { IN_FLIGHT_LIMIT } from './step.ts';

export type LimitFacts = {
  readonly outcomes: readonly Outcome[];
  readonly missed: readonly { readonly objective: Objective }[];
  /** one per second */
  readonly samples: readonly {
    readonly processes: Readonly<Record<string, Usage>>;
    readonly machine: number;
  }[];
  /** the target runs on this machine */
  readonly isShared: boolean;
  readonly cores: number;
  readonly kind: 'own' | 'embedded' | 'cluster';
  /** mean latency of successful requests, ms */
  readonly meanMs: number;
  /** mean latency of envelopes, ms; absent: the mix has none */
  readonly envelopeMs?: number;
  /** mean latency of the workloads that call a model, ms */
  readonly modelWorkMs?: number;
  /** mean time of an answer of the scripted model, ms */
  readonly modelMs?: number;
  /** mean time from when a request was due until it was sent, ms */
  readonly sendDelayMs: number;
  /** why the target's metrics cannot be read */
  readonly unreadable?: string;
};

/** A busier event loop delays every request. */
const BUSY = 0.85;
const MACHINE_BUSY = 0.95;
/** A share of errors, or of the latency, that is worth naming. */
const NOTABLE_ERRORS = 0.01;
const DOMINANT = 0.5;
/** A store that answers sooner limits nothing: this time contains the turns before it. */
const SLOW_STORE_MS = 20;

export function limitOf(facts: LimitFacts): Limit {
  const found = quota(facts) ?? client(facts) ?? targetLoop(facts) ?? machine(facts);
  return found ?? store(facts) ?? model(facts) ?? nothing(facts);
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** Mean of the samples that have the figure; undefined without one. */
function mean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value): value is number => value !== undefined);
  return known.length === 0
    ? undefined
    : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function quota({ outcomes }: LimitFacts): Limit | undefined {
  const refused = countOf(outcomes, 'RATE_LIMIT_EXCEEDED');
  const scheduled = scheduledOf(outcomes);
  if (refused < Math.max(1, scheduled * NOTABLE_ERRORS)) return undefined;
  return {
    what: 'quota',
    because: `the target refused ${refused} of ${scheduled} requests by a rate limit (RATE_LIMIT_EXCEEDED): see a2a.quota`,
  };
}

function client({ samples, outcomes, sendDelayMs, meanMs }: LimitFacts): Limit | undefined {
  const busy = mean(samples.map(({ processes }) => processes['client']?.eventLoop)) ?? 0;
  const unsent = countOf(outcomes, IN_FLIGHT_LIMIT);
  if (unsent > 0)
    return {
      what: 'client',
      because: `the load generator had as many requests in flight as it may, and did not send ${unsent}: see --max-in-flight`,
    };
  if (busy >= BUSY)
    return {
      what: 'client',
      because: `the event loop of the load generator was busy ${percent(busy)} of the time: latencies contain its own delays`,
    };
  if (meanMs > 0 && sendDelayMs > DOMINANT * meanMs && sendDelayMs > 5)
    return {
      what: 'client',
      because: `requests waited ${ms(sendDelayMs)} of ${ms(meanMs)} in the load generator for a connection: the target answers more slowly than requests are due, or --connections is too low`,
    };
  return undefined;
}

function targetLoop({ samples }: LimitFacts): Limit | undefined {
  for (const name of targetNames(samples)) {
    const busy = mean(samples.map(({ processes }) => processes[name]?.eventLoop));
    if (busy === undefined || busy < BUSY) continue;
    return {
      what: 'event-loop',
      because: `the event loop of ${name} was busy ${percent(busy)} of the time`,
    };
  }
  return undefined;
}

function machine({ samples, isShared, cores }: LimitFacts): Limit | undefined {
  const busy = mean(samples.map((sample) => sample.machine)) ?? 0;
  if (!isShared || busy < MACHINE_BUSY) return undefined;
  return {
    what: 'cpu',
    because: `the ${cores} cores of this machine, which the target shares with the load generator, were busy ${percent(busy)} of the time`,
  };
}

function store({ samples, kind, envelopeMs }: LimitFacts): Limit | undefined {
  const storeMs = mean(targetNames(samples).flatMap((name) => storeTimes(samples, name)));
  if (storeMs === undefined || envelopeMs === undefined) return undefined;
  if (storeMs < DOMINANT * envelopeMs || storeMs < SLOW_STORE_MS) return undefined;
  const isCluster = kind === 'cluster';
  return {
    what: isCluster ? 'nats' : 'disk',
    because: `an envelope took ${ms(envelopeMs)}, of which ${ms(storeMs)} until it was stored ${isCluster ? 'in NATS' : 'on the disk'}`,
  };
}

const storeTimes = (samples: LimitFacts['samples'], name: string) =>
  samples.map(({ processes }) => processes[name]?.storeMs);

function model({ modelMs, modelWorkMs }: LimitFacts): Limit | undefined {
  if (modelMs === undefined || modelWorkMs === undefined) return undefined;
  if (modelMs < DOMINANT * modelWorkMs) return undefined;
  return {
    what: 'model',
    because: `a request that calls a model took ${ms(modelWorkMs)}, and one answer of the scripted model ${ms(modelMs)}`,
  };
}

function nothing({ samples, missed, outcomes, unreadable }: LimitFacts): Limit {
  const own = mean(samples.map(({ processes }) => processes['client']?.eventLoop)) ?? 0;
  const loops = targetNames(samples).map((name) => {
    const busy = mean(samples.map(({ processes }) => processes[name]?.eventLoop));
    return busy === undefined ? [] : [`the event loop of ${name} was busy ${percent(busy)}`];
  });
  const figures = [
    ...loops.flat(),
    `the event loop of the load generator ${loops.flat().length > 0 ? '' : 'was busy '}${percent(own)} of the time`,
  ].join(', ');
  const failed = outcomes.reduce(
    (sum, { failed: count, unfinished }) => sum + count + unfinished,
    0,
  );
  const isFine = missed.length === 0 && failed <= scheduledOf(outcomes) * NOTABLE_ERRORS;
  if (isFine && unreadable === undefined)
    return { what: 'none', because: `nothing was saturated: ${figures}` };
  if (unreadable !== undefined)
    return {
      what: isFine ? 'none' : 'unknown',
      because: `the metrics of the target cannot be read (${unreadable}); ${figures}`,
    };
  return { what: 'unknown', because: `nothing that is measured was saturated: ${figures}` };
}

const targetNames = (samples: LimitFacts['samples']): readonly string[] =>
  [...new Set(samples.flatMap(({ processes }) => Object.keys(processes)))].filter(
    (name) => name !== 'client',
  );

const scheduledOf = (outcomes: readonly Outcome[]): number =>
  outcomes.reduce((sum, { scheduled }) => sum + scheduled, 0);

const countOf = (outcomes: readonly Outcome[], code: string): number =>
  outcomes.reduce((sum, { errors }) => sum + (errors[code] ?? 0), 0);
