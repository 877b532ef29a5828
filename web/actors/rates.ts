/** How often machines take events, from two readings of a list of actors. Pure. */
import type { ActorSummary } from '../../protocols/actor-view.ts';

export type Rates = {
  /** epoch milliseconds of the reading */
  readonly at: number;
  readonly steps: ReadonlyMap<string, number>;
  /** events a minute since the reading before, by address; only those above 0 */
  readonly perMinute: ReadonlyMap<string, number>;
};

export const NO_RATES: Rates = { at: 0, steps: new Map(), perMinute: new Map() };

export function ratesOf(actors: readonly ActorSummary[], now: number, before: Rates): Rates {
  const minutes = (now - before.at) / 60_000;
  const steps = new Map(actors.map((each) => [each.actor, each.steps]));
  const perMinute = new Map<string, number>();
  for (const [actor, count] of steps) {
    const was = before.steps.get(actor);
    // A restarted actor counts from 0 again.
    if (was !== undefined && count > was) perMinute.set(actor, Math.round((count - was) / minutes));
  }
  return { at: now, steps, perMinute };
}

/** Turns of the last minute before `now`. */
export const turnsOfLastMinute = (turns: readonly { readonly at: number }[], now: number): number =>
  turns.filter(({ at }) => at > now - 60_000).length;
