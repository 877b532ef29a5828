/** Whether a step met its objectives. */
import { measuredFor, outcomesOf } from './report/figures.ts';
import type { Objective, Step } from './report.ts';

/**
 * The objectives that were missed, with what was measured. Where requests were due and none
 * succeeded, an objective of latency is missed; `timeoutMs` is then reported as the latency.
 */
export function missedOf(
  objectives: readonly Objective[],
  step: Step,
  timeoutMs: number,
): Step['missed'] {
  return objectives.flatMap((objective) => {
    const isDue = outcomesOf(step, objective.workload).some(({ scheduled }) => scheduled > 0);
    const measured = measuredFor(step, objective) ?? timeoutMs;
    return isDue && measured > objective.atMost ? [{ objective, measured }] : [];
  });
}
