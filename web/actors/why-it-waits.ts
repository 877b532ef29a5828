/** Why an actor does nothing now, in sentences; the first is the one that matters most. Pure. */
import { activePaths, type Chart, type ChartState, statesOf } from '../../charts/chart.ts';
import type { ActorEffect, ActorView, ActorWait } from '../../protocols/actor-view.ts';
import type { Texts } from './strings.ts';

export type Times = {
  /** `3 min` */
  readonly span: (ms: number) => string;
  /** `in 3 minutes` */
  readonly until: (ms: number) => string;
};

export function whyItWaits(
  view: ActorView & { readonly waits?: readonly ActorWait[] },
  chart: Chart | undefined,
  now: number,
  { texts, times }: { readonly texts: Texts; readonly times: Times },
): readonly string[] {
  const { status, why = '', effects, timers, stash, shardLag, shardLagUnknown, waits = [] } = view;
  if (status === 'paused') return [texts.isPaused(why)];
  if (status === 'suspended') return [texts.isSuspended(why)];
  if (status === 'quarantined') return [texts.isQuarantined(why)];
  if (status !== 'active') return [texts.isOver];
  const lag = shardLagUnknown ? '?' : shardLag;
  const active = chart ? activeStates(chart, view.state) : [];
  const reasons = [
    ...waits.flatMap((wait) => gatewayReason(wait, texts)),
    ...effects.map((effect) => effectReason(effect, now, texts, times)),
    ...stash.map(({ type }) => {
      const deferring = active.find(({ defers }) => defers.some((each) => matches(each, type)));
      return deferring ? texts.deferred(type, deferring.key) : texts.stashed(type);
    }),
    ...(lag === 0 ? [] : [texts.lag(lag)]),
    ...timers.map(({ event, due }) => timerReason(timerName(event), times.until(due - now), texts)),
  ];
  return reasons.length > 0 ? reasons : [texts.waitsForMessage];
}

/** What only the gateway can know. */
function gatewayReason({ kind, text, on = {} }: ActorWait, texts: Texts): readonly string[] {
  const { shard = '', state = '', id = '', title = '', spent = '', agent = '' } = on;
  switch (kind) {
    case 'shard':
      return [state === 'unowned' ? texts.noOwner(shard) : texts.shardIs(shard, String(state))];
    case 'approval':
      return on['id'] === undefined ? [text] : [texts.forApproval(String(id), String(title))];
    case 'budget':
      return [texts.budgetSpent(String(spent))];
    case 'slot':
      return [texts.forSlot(String(agent), Number(on['running']), Number(on['waiting']))];
    default:
      return [];
  }
}

/** A machine tries again after a delay: `retryBackoff`. */
const timerReason = (name: string, when: string, texts: Texts): string =>
  /retry|backoff/i.test(name) ? texts.nextTry(name, when) : texts.timerDue(name, when);

function effectReason(
  { effect, state, attempt, since, lacks }: ActorEffect,
  now: number,
  texts: Texts,
  times: Times,
): string {
  if (lacks !== undefined) return texts.effectLacks(effect, lacks);
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
