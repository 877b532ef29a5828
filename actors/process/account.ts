/** Account: the row of a process, and its final answer to the requester. Pure. */
import type { ErrorData } from '../../protocols/errors.ts';
import { PROCESSES_INDEX, type ProcessRow, type ProcessStep } from '../../protocols/process.ts';
import type { Project, Reply } from '../../protocols/statechart.ts';
import { approvalId } from './saga.ts';
import type { Args, ProcessContext, Stage } from './types.ts';

const iso = (at: number): string => new Date(at).toISOString();

const publicStep = ({ outline: _, touched: __, ...step }: Stage): ProcessStep => step;

export const row = ({ context }: Args): Project => {
  const { processId, order, state, steps, at, startedAt, endedAt } = context;
  const value: ProcessRow = {
    process_id: processId,
    name: order?.action ?? '',
    state,
    step: steps[at]?.name ?? '',
    steps: steps.map(publicStep),
    started_at: iso(startedAt),
    ...(state === 'awaiting_person' ? { approval_id: approvalId(context) } : {}),
    ...(endedAt === undefined ? {} : { ended_at: iso(endedAt) }),
  };
  return { index: PROCESSES_INDEX, key: processId, value };
};

export const noRow = ({ context }: Args): Project => ({
  index: PROCESSES_INDEX,
  key: context.processId,
  value: null,
});

/** The answer to the requester when the process has ended, and to repeats. */
export const lastWord = ({ context }: Args): Reply => {
  const to = context.asker ?? undefined;
  if (context.state !== 'succeeded') return { to, error: errorOf(context) };
  const { processId, result, steps } = context;
  return { to, result: { process_id: processId, result, steps: steps.map(publicStep) } };
};

const namesOf = (steps: readonly Stage[], wanted: (step: Stage) => boolean): string[] =>
  steps.filter(wanted).map(({ name }) => name);

function errorOf(context: ProcessContext): ErrorData {
  const { processId, steps, failure, cancelled, state, order } = context;
  const undone = namesOf(steps, (step) => step.state === 'undone');
  const left = namesOf(steps, (step) => step.touched === true && step.state !== 'undone');
  const cause: ErrorData = cancelled
    ? { code: 'CANCELLED', message: 'it was cancelled' }
    : (failure?.error ?? { code: 'INTERNAL', message: 'it failed, and nothing says why' });
  const where = failure && !cancelled ? `step ${failure.step} (${failure.phase}) failed: ` : '';
  const list = (names: readonly string[]) => (names.length > 0 ? names.join(', ') : 'nothing');
  return {
    code: cause.code,
    message: `${order?.action ?? 'process'}: ${where}${cause.message}; undone: ${list(undone)}; left as it is: ${list(left)}`,
    details: {
      process_id: processId,
      ...(failure ? { step: failure.step, phase: failure.phase } : {}),
      cause,
      outcome: state,
      undone,
      left,
      // The task reads it and ends as COMPENSATED: all started work is undone.
      compensated: state === 'compensated' && undone.length > 0 && left.length === 0,
      steps: steps.map(publicStep),
    },
  };
}
