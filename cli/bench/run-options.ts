/** The options of `troupe bench run`, and the plan that they mean. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  durationMs,
  mixOf,
  numberIn,
  objectivesOf,
  rampOf,
  RATE_MAX,
  RATE_MIN,
} from '../../loadtest/arguments.ts';
import type { LoadPlan } from '../../loadtest/run.ts';
import { workloadNames } from '../../loadtest/workloads/index.ts';
import type { WorkloadOptions } from '../../loadtest/workloads/workload.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { defined } from '../../protocols/defined.ts';
import type { ClientOptions } from '../options.ts';

type Text = 'rate' | 'duration' | 'warmup' | 'mix' | 'ramp' | 'steps' | 'factor' | 'stepDuration';
type MoreText = 'refine' | 'arrival' | 'seed' | 'timeout' | 'grace' | 'maxInFlight';
type Contents = 'agent' | 'message' | 'query' | 'action' | 'payload' | 'tool' | 'arguments';

/** As parsed by commander. */
export type RunOptions = Omit<ClientOptions, 'json'> & {
  readonly [name in Text | MoreText | Contents]?: string;
} & {
  readonly connections?: string;
  readonly clients?: string;
  readonly slo?: readonly string[];
  readonly model?: string;
  readonly running?: boolean;
  readonly bearer?: string;
  readonly allowCost?: boolean;
  /** true: without a file */
  readonly json?: string | boolean;
  readonly html?: string;
  readonly label?: string;
};

const DAY_SECONDS = 86_400;
const COUNT_MAX = 1_000_000;
const CONNECTIONS_MAX = 10_000;
/** A ramp without objectives could not end before its last rate. */
const RAMP_OBJECTIVES = 'p99=1s,errors=1%';

const wrong = (message: string) => new TroupeError('INVALID_ARGUMENT', message);

/** @throws TroupeError INVALID_ARGUMENT */
export function planOf(options: RunOptions): LoadPlan {
  const mix = mixOf(options.mix ?? 'runs', workloadNames);
  const isRamp = options.ramp !== undefined;
  const only = isRamp
    ? (['rate', 'duration'] as const)
    : (['steps', 'factor', 'stepDuration', 'refine'] as const);
  const other = only.find((name) => options[name] !== undefined);
  if (other !== undefined)
    throw wrong(
      isRamp
        ? `--${other} and --ramp exclude each other: a ramp has --step-duration`
        : `--${other.replace('stepDuration', 'step-duration')} needs --ramp`,
    );
  const slo = options.slo ?? (isRamp ? [RAMP_OBJECTIVES] : []);
  return {
    mix,
    rates: ratesOf(options),
    stepSeconds: seconds(options.duration ?? options.stepDuration, isRamp ? 15 : 30, 'duration', 1),
    warmupSeconds: seconds(options.warmup, 5, 'warmup', 0),
    arrival: arrivalOf(options.arrival ?? 'poisson'),
    seed: whole(options.seed, 1, 0, 2 ** 32 - 1, 'seed'),
    objectives: slo.flatMap((text) => objectivesOf(text, Object.keys(mix))),
    refinements: isRamp ? whole(options.refine, 2, 0, 20, 'refine') : 0,
    timeoutMs: seconds(options.timeout, 30, 'timeout', 0.01) * 1_000,
    graceMs: seconds(options.grace, 10, 'grace', 0) * 1_000,
    inFlightMax: whole(options.maxInFlight, 10_000, 1, COUNT_MAX, 'max-in-flight'),
  };
}

function ratesOf({ ramp, rate = '10', steps, factor }: RunOptions): number[] {
  if (ramp === undefined) return [numberIn(rate, RATE_MIN, RATE_MAX, '--rate')];
  if (steps !== undefined && factor !== undefined)
    throw wrong('--steps and --factor exclude each other');
  return rampOf(
    ramp,
    defined({
      steps: steps === undefined ? undefined : whole(steps, 8, 2, 100, 'steps'),
      factor: factor === undefined ? undefined : numberIn(factor, 1.01, 100, '--factor'),
    }),
  );
}

function seconds(text: string | undefined, fallback: number, name: string, min: number): number {
  if (text === undefined) return fallback;
  const given = durationMs(text, 's', `--${name}`) / 1_000;
  if (given >= min && given <= DAY_SECONDS) return given;
  throw wrong(`--${name}: ${text} is not from ${min} s to a day`);
}

/** @throws TroupeError INVALID_ARGUMENT */
export function whole(
  text: string | undefined,
  fallback: number,
  min: number,
  max: number,
  name: string,
): number {
  if (text === undefined) return fallback;
  const number = numberIn(text, min, max, `--${name}`);
  if (Number.isInteger(number)) return number;
  throw wrong(`--${name}: ${text} is no whole number`);
}

function arrivalOf(text: string): LoadPlan['arrival'] {
  if (text === 'poisson' || text === 'constant') return text;
  throw wrong(`--arrival: ${JSON.stringify(text)} is neither poisson nor constant`);
}

/**
 * A file that cannot be written is found before the load. @param files by option
 * @throws TroupeError INVALID_ARGUMENT
 */
export function assertWritable(files: Readonly<Record<string, unknown>>): void {
  for (const [option, file] of Object.entries(files)) {
    if (typeof file !== 'string') continue;
    try {
      const known = statSync(file, { throwIfNoEntry: false });
      if (known?.isDirectory()) throw new Error('it is a folder');
      accessSync(known === undefined ? dirname(file) : file, constants.W_OK);
    } catch (error) {
      throw wrong(`--${option}: cannot write ${file}: ${(error as Error).message}`);
    }
  }
}

/** How many connections to open. */
export const connectionsOf = ({ connections, clients }: RunOptions) => ({
  connections: whole(connections, 64, 1, CONNECTIONS_MAX, 'connections'),
  sockets: whole(clients, 2, 1, CONNECTIONS_MAX, 'clients'),
});

/** @param hasBearer a program's token may call actions; the gateway's own one calls operations */
export function contentsOf(
  options: RunOptions,
  testId: string,
  hasBearer: boolean,
): WorkloadOptions {
  const { agent, message, query, action, tool } = options;
  const isEcho = tool === undefined && hasBearer;
  return {
    testId,
    ...defined({ agent }),
    message: message ?? 'Say hello. [[words:20]]',
    query: query ?? 'deadline of the project',
    action: action ?? 'conformance.echo_payload',
    payload: objectOf(options.payload, 'payload') ?? (action === undefined ? ECHO : {}),
    tool: tool ?? (isEcho ? 'conformance__echo_payload-v1' : 'agents_list'),
    toolArguments: objectOf(options.arguments, 'arguments') ?? (isEcho ? ECHO : {}),
  };
}
const ECHO = { text: 'a text as people write them, not very long' };

function objectOf(text: string | undefined, name: string): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // as another value
  }
  throw wrong(`--${name}: expected a JSON object`);
}
