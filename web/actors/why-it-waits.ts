/** Why an actor does nothing now, in sentences; the first is the one that matters most. Pure. */
import { activePaths, type Chart, type ChartState, statesOf } from '../../charts/chart.ts';
import type { ActorEffect, ActorView } from '../../protocols/actor-view.ts';
import type { Texts } from './strings.ts';

export type Times = {
  /** `3 min` */
  readonly span: (ms: number) => string;
  /** `in 3 minutes` */
  readonly until: (ms: number) => string;
};

export function whyItWaits(
  view: ActorView,
  chart: Chart | undefined,
  now: number,
  { texts, times }: { readonly texts: Texts; readonly times: Times },
): readonly string[] {
  const { status, why = '', effects, timers, stash, shardLag } = view;
  if (status === 'suspended') return [texts.isSuspended(why)];
  if (status === 'quarantined') return [texts.isQuarantined(why)];
  if (status !== 'active') return [texts.isOver];
  const active = chart ? activeStates(chart, view.state) : [];
  const reasons = [
    ...effects.map((effect) => effectReason(effect, now, texts, times)),
    ...stash.map(({ type }) => {
      const deferring = active.find(({ defers }) => defers.some((each) => matches(each, type)));
      return deferring ? texts.deferred(type, deferring.key) : texts.stashed(type);
    }),
    ...(shardLag > 0 ? [texts.lag(shardLag)] : []),
    ...timers.map(({ event, due }) => texts.timerDue(timerName(event), times.until(due - now))),
  ];
  return reasons.length > 0 ? reasons : [texts.waitsForMessage];
}

function effectReason(
  { effect, state, attempt, since }: ActorEffect,
  now: number,
  texts: Texts,
  times: Times,
): string {
  if (state === 'unknown') return texts.effectUnknown(effect);
  if (state === 'open' && attempt === 0) return texts.effectOpen(effect);
  return texts.effectRuns(effect, attempt, times.span(now - since));
}

/** The active states, deepest first. */
export const activeStates = (chart: Chart, value: unknown): readonly ChartState[] => {
  const paths = new Set(activePaths(value));
  return [...statesOf(chart.root)].filter(({ path }) => paths.has(path)).toReversed();
};

/** XState's rule: `a.*` is `a` and everything below it. */
const matches = (descriptor: string, type: string): boolean =>
  descriptor === type ||
  (descriptor.endsWith('.*') && `${type}.`.startsWith(descriptor.slice(0, -1)));

/** `xstate.after.quiet.session.idle` is `after quiet`. */
export const timerName = (event: string): string => {
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  return delay === undefined ? event : `after ${delay}`;
};
