/**
 * The geometry of a run: one lane per participant, a bar for each model call and tool, an arrow for
 * each message. Pure; `timeline.tsx` draws it.
 *
 * A bar is an effect with its recorded start and end. A session whose history is not kept has bars
 * for its steps, which are recorded when they end: such a bar begins where the previous step of
 * its lane ended, which is when the actor began to wait for it.
 */
import type { RunTrace, TraceEffect, TraceStep } from '../../../protocols/run-trace.ts';

export type Bar = {
  readonly at: number;
  readonly lane: number;
  readonly kind: 'model' | 'tool' | 'other' | 'failed';
  /** what a recorded effect is, and its attempt */
  readonly effect?: Pick<TraceEffect, 'effect' | 'attempt'> & { readonly durationMs: number };
  /** shares of the width, 0 to 1 */
  readonly from: number;
  readonly to: number;
};
export type Arrow = {
  readonly at: number;
  readonly fromLane: number;
  readonly toLane: number;
  readonly when: number;
  readonly kind: 'message' | 'end' | 'result';
};
export type Timeline = {
  readonly lanes: readonly { readonly id: string; readonly name: string }[];
  readonly bars: readonly Bar[];
  readonly arrows: readonly Arrow[];
  readonly durationMs: number;
};

const END_STEPS = ['end', 'result', 'message'] as const;

/** `at` of a bar or arrow is the index of its step. */
export const timelineOf = (trace: RunTrace): Timeline => {
  const { participants, steps } = trace;
  const first = Math.min(trace.startedAt, ...steps.map(({ at }) => at));
  const last = Math.max(
    trace.endedAt ?? first,
    ...steps.map(({ at }) => at),
    ...trace.effects.map(({ startedAt, endedAt = startedAt }) => endedAt),
  );
  const durationMs = Math.max(1, last - first);
  const share = (time: number) => Math.min(1, Math.max(0, (time - first) / durationMs));
  const laneOf = (id: string) => participants.findIndex((part) => part.id === id);
  const bars: Bar[] = [];
  const arrows: Arrow[] = [];
  const recorded = new Set(trace.effects.map((effect) => laneOf(effect.in)));
  for (const effect of trace.effects) {
    const { endedAt = last } = effect;
    bars.push({
      at: stepOf(steps, effect),
      lane: laneOf(effect.in),
      kind: effect.failed ? 'failed' : kindOf(effect.effect),
      from: share(effect.startedAt),
      to: share(endedAt),
      effect: { ...effect, durationMs: endedAt - effect.startedAt },
    });
  }
  const before = new Map<number, number>();
  steps.forEach((step, at) => {
    const when = share(step.at);
    const ends = endsOf(step);
    if (ends !== undefined) {
      const [fromLane, toLane] = [laneOf(ends.from), laneOf(ends.to)];
      arrows.push({ at, fromLane, toLane, when, kind: ends.kind });
      before.set(toLane, when);
      return;
    }
    if (step.kind !== 'model' && step.kind !== 'tool') return;
    const lane = laneOf(step.in);
    if (recorded.has(lane)) return;
    const kind = step.kind === 'tool' && step.failed ? 'failed' : step.kind;
    bars.push({ at, lane, kind, from: before.get(lane) ?? share(trace.startedAt), to: when });
    before.set(lane, when);
  });
  const lanes = participants.map(({ id, name, label }) => ({ id, name: label ?? name }));
  return { lanes, bars, arrows, durationMs };
};

const kindOf = (effect: string): Bar['kind'] =>
  effect === 'callModel' ? 'model' : effect.startsWith('call') ? 'tool' : 'other';

/** The step that an effect led to: the first one of its lane that is not before its end. */
const stepOf = (steps: readonly TraceStep[], { in: lane, endedAt = 0 }: TraceEffect): number =>
  steps.findIndex((step) => 'in' in step && step.in === lane && step.at >= endedAt);

const endsOf = (step: TraceStep) => {
  const kind = END_STEPS.find((each) => each === step.kind);
  if (kind === undefined) return undefined;
  if (step.kind === 'message' || step.kind === 'result')
    return { from: step.from, to: step.to, kind };
  if (step.kind === 'end' && step.to !== undefined) return { from: step.in, to: step.to, kind };
  return undefined;
};

/** Where the axis has marks: at most `most` round durations. */
export const ticksOf = (durationMs: number, most = 6): readonly number[] => {
  const rough = durationMs / most;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.floor(durationMs / step) + 1 }, (_, at) => at * step);
};

export const durationText = (ms: number): string =>
  ms < 1_000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1_000).toFixed(1)} s`
      : `${Math.floor(Math.round(ms / 1_000) / 60)} min ${Math.round(ms / 1_000) % 60} s`;
