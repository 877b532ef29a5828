/**
 * Scenario: one question that a bench answers with figures. What is measured and in which unit is
 * a table of its own, so that reports, gates and baselines know a figure by its name and a scenario
 * cannot forget one.
 *
 * Every repeat of a scenario runs in a process of its own: no heap, no compiled code and no page of
 * a store is left of the one before.
 */
import assert from 'node:assert/strict';

/**
 * `full` is what is reported and gated; `quick` shows the order of magnitude in seconds; `smoke`
 * proves that the scenario runs, its figures mean nothing.
 */
export const scales = ['full', 'quick', 'smoke'] as const;
export type Scale = (typeof scales)[number];

/**
 * More is better of `1/s`, `ratio` and `hops`, less of all others; `times` is how often its limit
 * fits into a figure, `share` a part of one core, `count` says how many there were.
 */
export type Unit =
  | '1/s'
  | 'ratio'
  | 'hops'
  | 'times'
  | 'share'
  | 's'
  | 'ms'
  | 'µs'
  | 'MB'
  | 'bytes'
  | 'count';

export type FigureSpec = {
  readonly label: string;
  readonly unit: Unit;
  /** figure of the same scenario that no implementation on this machine could beat */
  readonly limit?: string;
};

/** What one repeat is given. */
export type Repeat = {
  readonly scale: Scale;
  /** empty folder of this repeat, removed after it */
  readonly folder: string;
  /** the value for this repeat's scale */
  readonly pick: <T>(full: T, quick: T, smoke: T) => T;
};

export type Scenario = {
  readonly name: string;
  readonly question: string;
  readonly figures: Readonly<Record<string, FigureSpec>>;
  /** the built program is measured: it is built before, when its sources are newer */
  readonly needsProgram?: boolean;
  /** one repeat takes longer only when something is wrong: it is killed then */
  readonly secondsMax: number;
  /** of the scale `full`; the others are run once. Default 3 */
  readonly repeats?: number;
  measure(repeat: Repeat): Promise<Readonly<Record<string, number>>>;
};

/** A scenario whose `measure` answers exactly the figures of its table. */
export function defineScenario<const F extends Readonly<Record<string, FigureSpec>>>(
  scenario: Omit<Scenario, 'figures' | 'measure'> & {
    readonly figures: F;
    measure(repeat: Repeat): Promise<{ readonly [K in keyof F]: number }>;
  },
): Scenario {
  const figures: Readonly<Record<string, FigureSpec>> = scenario.figures;
  for (const [name, { limit }] of Object.entries(figures))
    assert(limit === undefined || limit in figures, `${name}: there is no figure ${limit}`);
  return scenario;
}

export const moreIsBetter = (unit: Unit): boolean =>
  unit === '1/s' || unit === 'ratio' || unit === 'hops';

export function repeatOf(scale: Scale, folder: string): Repeat {
  return {
    scale,
    folder,
    pick: (full, quick, smoke) => ({ full, quick, smoke })[scale],
  };
}
