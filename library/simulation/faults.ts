/**
 * Faults of a simulated run. Each place where a fault may happen has a name that does not depend on
 * other faults (`commit default/bill/1 #2`), so a run is repeated by its list of faults, and a part
 * of the list is a smaller run.
 */
import { Random } from './random.ts';

/**
 * Probabilities from 0 to 1 at each place where the fault is possible; 0 turns it off. Each run
 * uses some of them only.
 */
export type Faults = {
  /**
   * the process is killed before or after a commit, or right after an answer of `services`, and
   * starts again on its store; default 0.04
   */
  readonly kill?: number;
  /** an effect fails before it does anything; default 0.08 */
  readonly fail?: number;
  /** an effect did its work, and its outcome is lost: it fails with UNAVAILABLE; default 0.08 */
  readonly lose?: number;
  /** an effect ends up to two minutes later; default 0.08 */
  readonly slow?: number;
  /** a message of a client arrives up to ten minutes later; default 0.15 */
  readonly delay?: number;
  /** a client sends its message again, with the same key if it has one; default 0.15 */
  readonly repeat?: number;
  /** a mailbox is read up to 10 s later, so that messages of others overtake; default 0.03 */
  readonly hold?: number;
  /** after a kill, the clock of the machine is wrong by up to two minutes; default 0.2 */
  readonly clock?: number;
};

export type FaultKind = keyof Faults;

/** A fault that happened, or that a repeated run shall have. */
export type Fault = {
  /** name of the place */
  readonly at: string;
  readonly kind: FaultKind;
  /** duration or error of the clock, milliseconds; 0 where it means nothing */
  readonly ms: number;
};

const DEFAULTS: Required<Faults> = {
  kill: 0.04,
  fail: 0.08,
  lose: 0.08,
  slow: 0.08,
  delay: 0.15,
  repeat: 0.15,
  hold: 0.03,
  clock: 0.2,
};
export const FAULT_KINDS = Object.keys(DEFAULTS) as FaultKind[];

/** Bounds of durations, milliseconds. */
const MS: Readonly<Record<FaultKind, readonly [from: number, to: number]>> = {
  kill: [1, 2_000],
  fail: [0, 0],
  lose: [0, 0],
  slow: [100, 120_000],
  delay: [1, 600_000],
  repeat: [1, 60_000],
  hold: [1, 10_000],
  clock: [-7_000, 120_000],
};
/** A run with many faults is seldom the shortest one that shows a mistake. */
const FAULTS_MAX = 8;
/** The part of the runs that has no faults, and the part of the kinds that a run uses. */
const CALM = 0.1;
const USED = 0.6;

export type FaultPlan = {
  /** The fault at a place, if one of these kinds happens there. A place has one at most. */
  at(place: string, ...kinds: readonly FaultKind[]): Fault | undefined;
  /** those that happened, in order */
  readonly happened: readonly Fault[];
};

/** Decides by seed. */
export function randomFaults(seed: number, given: Faults | boolean): FaultPlan {
  const random = new Random(seed).fork('faults');
  const rates = { ...DEFAULTS, ...(typeof given === 'object' ? given : {}) };
  const isCalm = given === false || random.chance(CALM);
  const used = FAULT_KINDS.filter((kind) => random.chance(USED) || rates[kind] === 1);
  const happened: Fault[] = [];
  const asked = new Set<string>();
  const at = (place: string, ...kinds: readonly FaultKind[]): Fault | undefined => {
    if (isCalm || happened.length >= FAULTS_MAX || asked.has(place)) return undefined;
    asked.add(place);
    const local = random.fork(place);
    for (const kind of kinds) {
      if (!used.includes(kind) || !local.chance(rates[kind])) continue;
      // Small durations are as frequent as large ones.
      const [from, to] = MS[kind];
      const ms = local.chance(0.5)
        ? local.whole(from, to)
        : local.whole(from, Math.min(to, from + 200));
      const fault = { at: place, kind, ms };
      happened.push(fault);
      return fault;
    }
    return undefined;
  };
  return { at, happened };
}

/** Exactly these faults, as far as their places are reached. */
export function listedFaults(faults: readonly Fault[]): FaultPlan {
  const byPlace = new Map(faults.map((fault) => [fault.at, fault]));
  const happened: Fault[] = [];
  const at = (place: string, ...kinds: readonly FaultKind[]): Fault | undefined => {
    const fault = byPlace.get(place);
    if (!fault || !kinds.includes(fault.kind)) return undefined;
    byPlace.delete(place);
    happened.push(fault);
    return fault;
  };
  return { at, happened };
}
