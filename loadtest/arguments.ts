/** How a load test is written on a command line, and what it means. */
import { TroupeError } from '../protocols/errors.ts';
import { parseObjective } from './objective.ts';
import type { Objective } from './report.ts';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

const WEIGHT_MIN = 0.001;
const WEIGHT_MAX = 1_000_000;

const wrong = (message: string): TroupeError => new TroupeError('INVALID_ARGUMENT', message);

/**
 * Milliseconds of `500ms`, `30s`, `2m`, `1h`; a number alone is in `unit`.
 * @throws TroupeError INVALID_ARGUMENT
 */
export function durationMs(text: string, unit: 'ms' | 's', what: string): number {
  const [, number, given] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  if (number === undefined)
    throw wrong(`${what}: ${JSON.stringify(text)} is no duration, as 500ms, 30s, 2m or 1h`);
  return Number(number) * UNITS_MS[given ?? unit]!;
}

/** @throws TroupeError INVALID_ARGUMENT unless it is a number from `min` to `max` */
export function numberIn(text: string, min: number, max: number, what: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= min && number <= max) return number;
  throw wrong(`${what}: ${JSON.stringify(text)} is no number from ${min} to ${max}`);
}

/**
 * Shares of `runs=8,envelopes=2` (weights) or `runs` alone; they add up to 1.
 * @throws TroupeError INVALID_ARGUMENT for an unknown name or weight, naming the known ones
 */
export function mixOf(text: string, known: readonly string[]): Record<string, number> {
  const weights = new Map<string, number>();
  for (const part of text.split(',')) {
    const [name = '', weight = '1', ...more] = part.split('=').map((side) => side.trim());
    if (!known.includes(name))
      throw wrong(`--mix: no workload ${JSON.stringify(name)}; there are ${known.join(', ')}`);
    if (weights.has(name)) throw wrong(`--mix: ${name} occurs twice`);
    if (more.length > 0) throw wrong(`--mix: ${JSON.stringify(part)} is not NAME=WEIGHT`);
    weights.set(name, numberIn(weight, WEIGHT_MIN, WEIGHT_MAX, `--mix: weight of ${name}`));
  }
  const sum = [...weights.values()].reduce((total, weight) => total + weight, 0);
  return Object.fromEntries([...weights].map(([name, weight]) => [name, weight / sum]));
}

/**
 * Rates of a ramp `10..400`, both ends included: each is the one before times the same factor.
 * @throws TroupeError INVALID_ARGUMENT
 */
export function rampOf(text: string, how: { steps?: number; factor?: number }): number[] {
  const [from = '', to = '', ...more] = text.split('..');
  if (more.length > 0 || to === '')
    throw wrong(`--ramp: ${JSON.stringify(text)} is not FROM..TO, as 10..400`);
  const [low, high] = [from, to].map((end) => numberIn(end, RATE_MIN, RATE_MAX, '--ramp'));
  if (high! <= low!) throw wrong('--ramp: the second rate must be above the first');
  const ratio = high! / low!;
  const steps =
    how.factor === undefined
      ? (how.steps ?? STEPS)
      : Math.ceil(Math.log(ratio) / Math.log(how.factor) - 1e-9) + 1;
  if (steps > STEPS_MAX)
    throw wrong(`--ramp: ${steps} steps are more than ${STEPS_MAX}: use a larger factor`);
  const factor = how.factor ?? ratio ** (1 / (steps - 1));
  return Array.from({ length: steps }, (_, at) => rounded(Math.min(high!, low! * factor ** at)));
}
export const RATE_MIN = 0.01;
export const RATE_MAX = 100_000;
const STEPS = 8;
const STEPS_MAX = 100;

/** Rates are written with three significant digits, or as whole numbers. */
export const rounded = (rate: number): number =>
  rate >= 100 ? Math.round(rate) : Number(rate.toPrecision(3));

/**
 * Objectives of `p99=500ms,errors=0.1%`. Each as `parseObjective` reads it; `=` and `<` mean `<=`,
 * and `@chats` means ` of chats`.
 * @throws TroupeError INVALID_ARGUMENT, also for a workload that is not in the mix
 */
export function objectivesOf(text: string, workloads: readonly string[]): Objective[] {
  return text.split(',').map((part) => {
    const objective = parseObjective(part.replace(/<?=/, '<=').replace('@', ' of '));
    const { workload } = objective;
    if (workload === undefined || workloads.includes(workload)) return objective;
    throw wrong(`--slo: ${workload} is not in the mix (${workloads.join(', ')})`);
  });
}
