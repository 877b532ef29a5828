/** When the effects of a run started and ended, from the recorded turns of its sessions. Pure. */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { defined } from '../../protocols/defined.ts';
import type { TraceEffect } from '../../protocols/run-trace.ts';

/** Effects that do work for a run; the others only send its answer. */
const WORK: ReadonlySet<string> = new Set([
  'assemble',
  'callModel',
  'callTools',
  'callKeyed',
  'callOnce',
  'compact',
]);

type Period = { readonly startedAt: number; readonly endedAt: number | undefined };

/** @param turns of the session `participant`, in any order */
export function effectsOf(
  participant: string,
  turns: readonly ActorTurn[],
  period: Period,
): readonly TraceEffect[] {
  const open = new Map<string, number[]>();
  const failures = new Map<string, number>();
  const found: TraceEffect[] = [];
  const add = (effect: string, startedAt: number, end?: { endedAt: number; failed: boolean }) => {
    if (!WORK.has(effect)) return;
    const attempt = 1 + (failures.get(effect) ?? 0);
    failures.set(effect, end?.failed ? attempt : 0);
    found.push({ in: participant, effect, startedAt, attempt, failed: false, ...end });
  };
  for (const turn of turns.toSorted((a, b) => a.turn - b.turn)) {
    const failed = /^outcome of (\w+): failed$/.exec(turn.input)?.[1];
    for (const effect of turn.ended) {
      const startedAt = open.get(effect)?.shift();
      if (startedAt !== undefined)
        add(effect, startedAt, { endedAt: turn.at, failed: effect === failed });
    }
    for (const effect of turn.opened) {
      const starts = open.get(effect);
      if (starts) starts.push(turn.at);
      else open.set(effect, [turn.at]);
    }
  }
  for (const [effect, starts] of open) for (const startedAt of starts) add(effect, startedAt);
  return found.filter((effect) => isWithin(effect, period));
}

const isWithin = ({ startedAt, endedAt }: TraceEffect, period: Period): boolean =>
  startedAt >= period.startedAt &&
  (period.endedAt === undefined || (endedAt ?? startedAt) <= period.endedAt);

/** A question that a run asked, from its row. */
export const approvalOf = (
  participant: string,
  row: {
    readonly id: string;
    readonly asked_at: string;
    readonly title: string;
    readonly state: string;
    readonly decision?: string;
    readonly decided_by?: string;
    readonly decided_at?: string;
  },
) => ({
  in: participant,
  id: row.id,
  at: Date.parse(row.asked_at),
  title: row.title,
  state: row.state,
  ...defined({
    decision: row.decision,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at === undefined ? undefined : Date.parse(row.decided_at),
  }),
});
