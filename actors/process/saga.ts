/**
 * Saga: the pure parts of the process's chart: the next step, the meaning of its outcome, and the
 * steps to undo. The chart determines when they run.
 */
import type { ApprovalAsk, ApprovalDecision } from '../../protocols/approval.ts';
import { approvalAddress } from '../../protocols/approval.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import { ERRORS } from '../../protocols/errors.ts';
import type { ProcessState } from '../../protocols/process.ts';
import type { ActorInput, Tell } from '../../protocols/statechart.ts';
import type { Evidence, TaskView } from '../../protocols/task.ts';
import {
  type Args,
  type ConcludeInput,
  type Failure,
  on,
  type Order,
  type OrderEvent,
  type Phase,
  type PlanInput,
  type Planned,
  type ProcessContext,
  type ProcessEvent,
  type ProcessReply,
  type Stage,
} from './types.ts';

export const initialContext = ({ self, tenant, key, now }: ActorInput): ProcessContext => ({
  self,
  tenant,
  processId: key,
  order: null,
  asker: null,
  state: 'unstarted',
  startedAt: now,
  steps: [],
  at: 0,
  round: 0,
  questions: 0,
  awaiting: null,
  call: null,
  results: {},
  failure: null,
  trouble: null,
  cancelled: false,
});

// ---- authorization

/** The task of the process requests it, by the name of its action. */
export const isOrder = ({ context, event }: Args): boolean => {
  const { type } = event;
  const taskId = 'task_id' in event ? event.task_id : undefined;
  if (taskId !== context.processId || type === 'task.cancel') return false;
  return context.order === null || context.order.action === type;
};

/** Any message of the task's action: its other fields are the input. */
const fieldsOf = (event: ProcessEvent): OrderEvent => event;

export const onOrder = ({ event }: Args): Partial<ProcessContext> => {
  const {
    type: action,
    meta,
    task_id: _,
    action_version: version,
    task_locality: locality,
    ...input
  } = fieldsOf(event);
  const order: Order = {
    action,
    input,
    ...(typeof version === 'string' ? { version } : {}),
    ...(meta.principal ? { principal: meta.principal } : {}),
    ...(meta.traceId ? { traceId: meta.traceId } : {}),
    ...(typeof locality === 'string' ? { locality } : {}),
  };
  return { order, startedAt: meta.now };
};

export const keepAsker = ({ context, event }: Args): Partial<ProcessContext> => ({
  asker: event.meta.reply ?? context.asker,
});

export const enter = (
  { event }: Args,
  { state }: { state: ProcessState },
): Partial<ProcessContext> => ({
  state,
  ...(isEnd(state) ? { endedAt: event.meta.now, call: null, awaiting: null } : {}),
});
const isEnd = (state: ProcessState): boolean =>
  state === 'succeeded' || state === 'compensated' || state === 'abandoned';

export const cancel = (): Partial<ProcessContext> => ({ cancelled: true });

// ---- planning and requests

const stepOf = ({ steps, at }: ProcessContext): Stage | undefined => steps[at];

export const planFor = (context: ProcessContext, phase: Phase): PlanInput => {
  const { processId, tenant, order, at, round, results } = context;
  return {
    processId,
    tenant,
    order: order!,
    at,
    phase,
    round: phase === 'act' || phase === 'verify' ? 0 : round,
    results,
    work: workFor(context, phase),
  };
};

function workFor(context: ProcessContext, phase: Phase): PlanInput['work'] {
  const step = stepOf(context);
  if (phase === 'act' || !step) return null;
  const done = Object.hasOwn(context.results, step.name);
  return {
    taskId: step.task_id ?? '',
    ...(done ? { result: context.results[step.name] } : {}),
    ...(phase === 'verifyUndo' ? { undone: context.undone } : {}),
  };
}

export const toConclude = ({ order, results }: ProcessContext): ConcludeInput => ({
  order: order!,
  results,
});

const change = (context: ProcessContext, fields: Partial<Stage>): ProcessContext['steps'] =>
  context.steps.map((step, n) => (n === context.at ? { ...step, ...fields } : step));

const TASK_OF = {
  act: 'task_id',
  verify: 'verify_task_id',
  undo: 'undo_task_id',
  verifyUndo: 'undo_verify_task_id',
} as const satisfies Record<Phase, keyof Stage>;

/** Stores the id of the step's task, which is requested in the same turn. */
export const keepPlan = (
  { context }: Args,
  { call, phase }: { call: Planned; phase: Phase },
): Partial<ProcessContext> => {
  const steps =
    context.steps.length > 0
      ? context.steps
      : call.outline.map((outline) => ({ name: outline.name, state: 'waiting' as const, outline }));
  const fields: Partial<Stage> = {
    [TASK_OF[phase]]: call.taskId,
    ...(phase === 'act' ? { state: 'acting' } : {}),
  };
  return { call, awaiting: call.to, steps: change({ ...context, steps }, fields) };
};

export const submit = ({ context }: Args): Tell => ({
  to: context.call!.to,
  event: context.call!.submit,
  ask: true,
});

/** The step is left before its task has ended; a later answer of the task is ignored. */
export const cancelTask = ({ context }: Args): Tell => ({
  to: context.call!.to,
  event: { type: 'task.cancel', reason: `the process ${context.processId} is cancelled` },
});

// ---- outcomes of tasks

export const isAwaited = on(
  'reply',
  ({ context, event: { meta } }) => meta.from !== undefined && meta.from === context.awaiting,
);

const viewOf = ({ result }: ProcessReply): TaskView | undefined => result as TaskView | undefined;

export const succeeded = on(
  'reply',
  (args): boolean => isAwaited(args) && viewOf(args.event)?.state === 'SUCCEEDED',
);

export const verified = on(
  'reply',
  (args): boolean =>
    succeeded(args) && (viewOf(args.event)?.result as Evidence | undefined)?.verified === true,
);

export const keepResult = on('reply', ({ context, event }): Partial<ProcessContext> => {
  const step = stepOf(context)!;
  const result = viewOf(event)?.result ?? null;
  return {
    results: { ...context.results, [step.name]: result },
    steps: change(context, { touched: true, state: step.outline.verify ? 'verifying' : 'done' }),
    call: null,
    awaiting: null,
  };
});

export const lacksProof = ({ context }: Args): boolean => stepOf(context)?.state === 'verifying';

export const keepEvidence = on(
  'reply',
  ({ context, event }): Partial<ProcessContext> => ({
    steps: change(context, { state: 'done', evidence: viewOf(event)!.result as Evidence }),
    call: null,
    awaiting: null,
  }),
);

export const hasNext = ({ context }: Args): boolean => context.at + 1 < context.steps.length;
export const nextStep = ({ context }: Args): Partial<ProcessContext> => ({ at: context.at + 1 });

/**
 * Whether a task that did not succeed may have done something. It has not if it was refused at its
 * first attempt, was too late, or compensated its own work.
 */
const mayHaveActed = ({ result, error }: ProcessReply): boolean => {
  const view = result as TaskView | undefined;
  if (!view)
    return error === undefined || ERRORS[error.code].retriable || error.code === 'INTERNAL';
  if (view.state === 'EXPIRED' || view.state === 'COMPENSATED' || view.attempt === 0) return false;
  if (view.state === 'CANCELLED' || view.attempt > 1 || !view.error) return true;
  return ERRORS[view.error.code].retriable || view.error.code === 'INTERNAL';
};

/** Why a task did not have the required outcome. */
const errorOf = ({ result, error }: ProcessReply): ErrorData => {
  if (error) return error;
  const { state, error: taskError, result: evidence, action, task_id: id } = result as TaskView;
  if (taskError)
    return {
      code: taskError.code,
      message: taskError.message,
      details: { ...taskError.details, task_id: id },
    };
  if (state !== 'SUCCEEDED')
    return { code: 'CANCELLED', message: `${action} ended ${state}`, details: { task_id: id } };
  const { detail = 'the verifier does not say why' } = (evidence ?? {}) as Partial<Evidence>;
  return {
    code: 'CONFLICT',
    message: `${action} did not find it so: ${detail}`,
    details: { task_id: id, evidence },
  };
};

const failureAt = (
  context: ProcessContext,
  phase: Failure['phase'],
  error: ErrorData,
): Failure => ({
  step: stepOf(context)?.name ?? '',
  phase,
  error,
});

/** The step's own task failed, or was cancelled. */
export const failStep = on('reply', ({ context, event }): Partial<ProcessContext> => {
  return {
    failure: failureAt(context, 'act', errorOf(event)),
    steps: change(context, {
      state: 'failed',
      ...(mayHaveActed(event) ? { touched: true } : {}),
    }),
  };
});

export const failProof = on(
  'reply',
  ({ context, event }): Partial<ProcessContext> => ({
    failure: failureAt(context, 'verify', errorOf(event)),
    steps: change(context, { state: 'failed' }),
  }),
);

/** A function of the definition threw, or the requested action does not exist. */
export const failPlan = (
  { context }: Args,
  { error, phase }: { error: ErrorData; phase: Failure['phase'] },
): Partial<ProcessContext> => ({
  failure: failureAt(context, phase, error),
  steps: change(context, { state: 'failed' }),
});

// ---- compensation

const lastToUndo = ({ steps }: ProcessContext): number =>
  steps.findLastIndex(
    ({ touched, state, outline }) =>
      touched && outline.undo && state !== 'undone' && state !== 'left',
  );

export const somethingToUndo = ({ context }: Args): boolean => lastToUndo(context) >= 0;

export const takeLast = ({ context }: Args): Partial<ProcessContext> => {
  const at = lastToUndo(context);
  return {
    at,
    round: 0,
    call: null,
    awaiting: null,
    steps: change({ ...context, at }, { state: 'undoing' }),
  };
};

export const keepUndo = on(
  'reply',
  ({ context, event }): Partial<ProcessContext> => ({
    undone: viewOf(event)?.result ?? null,
    steps: change(context, { state: stepOf(context)!.outline.verifyUndo ? 'unproven' : 'undone' }),
    call: null,
    awaiting: null,
  }),
);

export const lacksUndoProof = ({ context }: Args): boolean => stepOf(context)?.state === 'unproven';

export const keepUndoEvidence = on(
  'reply',
  ({ context, event }): Partial<ProcessContext> => ({
    steps: change(context, { state: 'undone', undo_evidence: viewOf(event)!.result as Evidence }),
  }),
);

export const keepTrouble = on(
  'reply',
  ({ event }): Partial<ProcessContext> => ({
    trouble: errorOf(event),
  }),
);
export const keepPlanTrouble = (
  _: Args,
  { error }: { error: ErrorData },
): Partial<ProcessContext> => ({ trouble: error });

// ---- decisions of operators

export const approvalId = ({ processId, questions }: ProcessContext): string =>
  `${processId}.${questions}`;

export const countQuestion = ({ context }: Args): Partial<ProcessContext> => {
  const asked = { ...context, questions: context.questions + 1 };
  return {
    questions: asked.questions,
    awaiting: approvalAddress(context.tenant, approvalId(asked)),
  };
};

export const askForDecision = ({ context }: Args): Tell => {
  const step = stepOf(context)!;
  const { code, message } = context.trouble!;
  const event: ApprovalAsk = {
    type: 'approval.ask',
    title: `${context.order!.action}: step ${step.name} could not be undone`.slice(0, 256),
    detail: [
      `process ${context.processId}`,
      `why it is undone: ${context.cancelled ? 'it was cancelled' : context.failure?.error.message}`,
      `what failed: ${code}: ${message}`,
      'again tries once more; skip leaves the step as it is and undoes those before it; abort ends',
    ]
      .join('\n')
      .slice(0, 8_192),
    options: [
      { name: 'again', means: 'allowed' },
      { name: 'skip', means: 'allowed' },
      { name: 'abort', means: 'denied' },
    ],
  };
  return { to: context.awaiting!, event, ask: true };
};

const decides = (decision: string) =>
  on(
    'reply',
    (args) =>
      isAwaited(args) && (args.event.result as ApprovalDecision | undefined)?.decision === decision,
  );
export const saysAgain = decides('again');
export const saysSkip = decides('skip');
export const saysAbort = decides('abort');

export const again = ({ context }: Args): Partial<ProcessContext> => ({
  round: context.round + 1,
  awaiting: null,
  steps: change(context, { state: 'undoing' }),
});
export const leave = ({ context }: Args): Partial<ProcessContext> => ({
  awaiting: null,
  steps: change(context, { state: 'left' }),
});
