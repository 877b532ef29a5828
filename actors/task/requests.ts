/**
 * Requests: what a task requests from its effects, from the actor that does its work, and from
 * redriven dead letters. Pure.
 */
import { defined } from '../../protocols/defined.ts';
import { envelopeToMessage, parseAction } from '../../protocols/envelope.ts';
import type { DeadLetterAsk, Tell } from '../../protocols/statechart.ts';
import { taskAddress, type TaskDecide, type TaskSubmit } from '../../protocols/task.ts';
import type {
  Args,
  CheckInput,
  CompensateInput,
  OfTask,
  PerformInput,
  TaskContext,
} from './types.ts';
import { evidenceRow, viewOf } from './view.ts';
import { endingOf, evidenceOf, performerOf, workOf } from './work.ts';

export const performInput = ({ context }: OfTask): PerformInput => {
  const { envelope, terms, inputs, expiresAt, agents, failures, error } = workOf(context);
  const agent = agents?.at(-1);
  return {
    taskId: context.taskId,
    idempotencyKey: idempotencyKeyOf(context),
    envelope,
    terms,
    attempt: viewOf(context).attempt,
    inputs,
    expiresAt,
    ...(agent ? { agent } : {}),
    ...(error && failures > 0 ? { errorCode: error.code } : {}),
  };
};

export const checkInput = ({ context }: OfTask): CheckInput => {
  const { envelope, terms, reported } = workOf(context);
  return { taskId: context.taskId, envelope, terms, result: reported?.result ?? null };
};

export const compensateInput = ({ context }: OfTask): CompensateInput => {
  const { expiresAt: _, agent: __, ...input } = performInput({ context });
  const { agents = [], failures, outcome } = workOf(context);
  return {
    ...input,
    agents,
    attempt: failures + 1,
    ...(outcome?.kind === 'failed' && outcome.returned ? { returned: outcome.returned } : {}),
  };
};

/**
 * A redriven task uses the key of the original task, so that its work is not done twice, unless
 * that work was undone in the meantime.
 */
function idempotencyKeyOf(context: TaskContext): string {
  const { redriveOf, terms } = workOf(context);
  return redriveOf === undefined || terms.compensable ? context.taskId : firstTryOf(context.taskId);
}

const REDRIVEN = /\.r(\d+)$/;
const firstTryOf = (taskId: string): string => taskId.replace(REDRIVEN, '');
const nextTryOf = (taskId: string): string =>
  `${firstTryOf(taskId)}.r${Number(REDRIVEN.exec(taskId)?.[1] ?? 0) + 1}`;

// ---- the actor that does the work

/** On behalf of the envelope's sender, whatever caused this attempt. */
export function askActor({ context }: OfTask): Tell {
  const { envelope } = workOf(context);
  const { action_version, principal, data_locality, context_id } = envelope;
  const event = {
    ...envelopeToMessage(envelope),
    task_id: context.taskId,
    action_version,
    ...defined({ task_locality: data_locality, task_context: context_id }),
  };
  return { to: performerOf(context)!.to, event, ask: true, principal };
}

export function withdraw({ context }: OfTask): Tell {
  const reason = endingOf(context).error.message;
  const event = { type: 'task.cancel', task_id: context.taskId, reason };
  return { to: performerOf(context)!.to, event, principal: workOf(context).envelope.principal };
}

export const evidence = ({ context }: OfTask) => evidenceRow(context, evidenceOf(context)!);

// ---- dead letters

/** The work was abandoned: a redrive submits it again as a new task. */
export function deadWork({ context }: OfTask): DeadLetterAsk {
  const { envelope, terms, transport } = workOf(context);
  const { error } = endingOf(context);
  const submit: TaskSubmit = {
    type: 'task.submit',
    envelope,
    payloadHash: context.payloadHash,
    terms,
    transport,
    answer: 'ack',
    redriveOf: context.taskId,
  };
  return {
    domain: parseAction(envelope.action).domain,
    reason: error.code === 'DEADLINE_EXCEEDED' ? 'TIME_IS_UP' : 'EXHAUSTED',
    error,
    to: taskAddress(context.tenant, nextTryOf(context.taskId)),
    event: submit,
  };
}

/** Its work could not be undone: a redrive tries that again. */
export function deadUndoing({ context }: Args): DeadLetterAsk {
  const { envelope, error } = workOf(context);
  const decide: TaskDecide = { type: 'task.decide', decision: 'again', why: 'redriven' };
  return {
    domain: parseAction(envelope.action).domain,
    reason: 'COMPENSATION_FAILED',
    error: error ?? { code: 'INTERNAL', message: 'the reason is unknown' },
    to: context.self,
    event: decide,
  };
}
