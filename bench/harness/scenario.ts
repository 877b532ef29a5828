/**
 * A scenario is one question that the benchmark answers with figures. A table defines its figures
 * and their units, so that reports, gates and baselines refer to a figure by name and a scenario
 * cannot forget one.
 *
 * Every repeat of a scenario runs in its own process, so that no heap, compiled code or store page
 * of an earlier repeat remains.
 */
import assert from 'node:assert/strict';

/**
 * `full` is reported and gated; `quick` shows the order of magnitude in seconds; `smoke` only
 * proves that the scenario runs, and its figures mean nothing.
 */
export const scales = ['full', 'quick', 'smoke'] as const;
export type Scale = (typeof scales)[number];

/**
 * For `1/s`, `ratio` and `hops` more is better, for all others less. `times` is the figure divided
 * by its limit, `share` a part of one core, and `count` a number of things.
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
  /** It is measured only where this package is in the folder of `--peers`. */
  readonly needs?: string;
};

/** The input of one repeat. */
export type Repeat = {
  readonly scale: Scale;
  /** empty folder of this repeat, removed afterwards */
  readonly folder: string;
  /** the value for this repeat's scale */
  readonly pick: <T>(full: T, quick: T, smoke: T) => T;
};

export type Scenario = {
  readonly name: string;
  readonly question: string;
  readonly figures: Readonly<Record<string, FigureSpec>>;
  /** whether the built program is measured; it is built first if its sources are newer */
  readonly needsProgram?: boolean;
  /** time limit of one repeat; it is killed then */
  readonly secondsMax: number;
  /** repeats at scale `full`; the other scales have one. Default 3 */
  readonly repeats?: number;
  measure(repeat: Repeat): Promise<Readonly<Record<string, number | undefined>>>;
};

type NeedsPackage = { readonly needs: string };

type Measured<F extends Readonly<Record<string, FigureSpec>>> = {
  readonly [K in keyof F as F[K] extends NeedsPackage ? never : K]: number;
} & {
  readonly [K in keyof F as F[K] extends NeedsPackage ? K : never]?: number | undefined;
};

/** A scenario whose `measure` returns exactly the figures of its table. */
export function defineScenario<const F extends Readonly<Record<string, FigureSpec>>>(
  scenario: Omit<Scenario, 'figures' | 'measure'> & {
    readonly figures: F;
    measure(repeat: Repeat): Promise<Measured<F>>;
  },
): Scenario {
  const figures: Readonly<Record<string, FigureSpec>> = scenario.figures;
  for (const [name, { limit }] of Object.entries(figures))
    assert(limit === undefined || limit in figures, `${name}: there is no figure ${limit}`);
  return scenario;
}

/**
 * What a cell of 1, 2 and 3 workers measures, one after the other. At scale `smoke` a cell of two
 * represents all three: the same code runs, and most of its time would be the start of processes.
 */
export async function ofOneToThree<T>(
  { scale }: Repeat,
  measure: (workers: number) => Promise<T>,
): Promise<readonly [T, T, T]> {
  if (scale !== 'smoke') return [await measure(1), await measure(2), await measure(3)];
  const two = await measure(2);
  return [two, two, two];
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
