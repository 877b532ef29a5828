/**
 * View: the row, events and answers of a task. Pure.
 *
 * Invariants: events are numbered from 1 without gaps; a final state is set once; an event contains
 * the task at the time when the event was its newest.
 */
import type { Address } from '../../protocols/address.ts';
import {
  AGENT_TASKS_INDEX,
  type AgentTaskRow,
  agentTasksPrefix,
  changedAt,
  type TaskRowWithMessages,
} from '../../protocols/agent2agent.ts';
import { defined } from '../../protocols/defined.ts';
import type { ErrorData, TroupeErrorOptions } from '../../protocols/errors.ts';
import { ENVELOPE_SEQ_MAX, type EventSuffix } from '../../protocols/envelope.ts';
import { withoutSealedResult } from '../../protocols/security/sealed-result.ts';
import type {
  Delivered,
  Project,
  Publish,
  Reply,
  ReplyRef,
  Tell,
} from '../../protocols/statechart.ts';
import {
  type Decision,
  DECISIONS_SHOWN_MAX,
  EVIDENCE_INDEX,
  evidencePrefix,
  type Evidence,
  type EvidenceRow,
  isFinal,
  subjectOf,
  TASKS_INDEX,
  type TaskDecide,
  type TaskEvent,
  taskEvent,
  type TaskState,
  type TaskSubmit,
  taskTopic,
  type TaskView,
  type Waiting,
} from '../../protocols/task.ts';
import { type TaskChanged, WATCHERS_MAX } from '../../protocols/task-watch.ts';
import { type Args, type OfTask, on, type TaskContext, type TaskEventIn } from './types.ts';

/** Largest result in a published view, characters of JSON; readers use the row for larger ones. */
export const TOLD_RESULT_MAX = 65_536;
/** How long evidence is kept after its task, milliseconds. */
const EVIDENCE_KEPT_MS = 30 * 24 * 3_600_000;

/** The text of the last time: one turn has one time, and several fields with it. */
let lastTime = { now: 0, text: new Date(0).toISOString() };

export const timeOf = (now: number): string => {
  if (lastTime.now !== now) lastTime = { now, text: new Date(now).toISOString() };
  return lastTime.text;
};

/** @throws Error when nothing was accepted yet: no state that calls it is reached before */
export const viewOf = ({ view, self }: TaskContext): TaskView => {
  if (!view) throw new Error(`${self} has accepted nothing yet`);
  return view;
};

/** The view of a task that has just been accepted. */
export function acceptedView(
  { taskId, tenant }: Pick<TaskContext, 'taskId' | 'tenant'>,
  { envelope, terms, protocol, agentId }: TaskSubmit,
  now: number,
): TaskView {
  const { action } = envelope;
  return {
    task_id: taskId,
    tenant_id: tenant,
    action,
    action_version: envelope.action_version,
    state: 'ACKED',
    request_id: envelope.request_id,
    correlation_id: envelope.correlation_id,
    trace_id: envelope.trace_id,
    ...(envelope.context_id === undefined ? {} : { context_id: envelope.context_id }),
    subject: subjectOf(envelope),
    principal: envelope.principal.sub,
    ...(protocol === undefined ? {} : { protocol }),
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    accepted_at: timeOf(now),
    eta_sec: terms.etaSec,
    attempt: 0,
    events: [{ n: 1, event: taskEvent(action, 'accepted'), at: timeOf(now), state: 'ACKED' }],
  };
}

type Changed = Partial<TaskView> & Pick<TaskView, 'state'>;

/** The view after a change that is an event, too. */
function withEvent(view: TaskView, change: Changed, suffix: EventSuffix, now: number): TaskView {
  const { events, action } = view;
  const { state } = change;
  const event = { n: events.length + 1, event: taskEvent(action, suffix), at: timeOf(now), state };
  return { ...view, ...change, events: [...events, event] };
}

export const begunView = (view: TaskView, now: number): TaskView =>
  withEvent(view, { state: 'RUNNING', attempt: 1, started_at: timeOf(now) }, 'running', now);

/** Its work starts once more. @param now of the end of a wait; omitted: it waited for nothing */
export function resumedView(view: TaskView, now?: number): TaskView {
  const { waiting: _, ...rest } = view;
  const resumed = now === undefined ? {} : { resumed_at: timeOf(now) };
  return { ...rest, ...resumed, state: 'RUNNING', attempt: view.attempt + 1 };
}

export const waitingView = (
  view: TaskView,
  { state, ...waiting }: Omit<Waiting, 'since'> & { readonly state: TaskState },
  now: number,
): TaskView => ({
  ...view,
  state,
  waiting: { ...waiting, prompt: waiting.prompt.slice(0, 4_096), since: timeOf(now) },
});

/** An operator's word, which stays in the view with its name and reason. */
export function decidedView(
  view: TaskView,
  { decision, why, meta }: Delivered<TaskDecide>,
): TaskView {
  const who = meta.principal?.sub ?? meta.from ?? 'unknown';
  const entry: Decision = { decision, who, why, at: timeOf(meta.now) };
  return { ...view, decisions: [...(view.decisions ?? []), entry].slice(-DECISIONS_SHOWN_MAX) };
}

/** A result came, and is checked. */
export function resultedView(view: TaskView): TaskView {
  const { waiting: _, compensating: __, ...rest } = view;
  return { ...rest, state: 'RUNNING' };
}

/** Outward it is running while what it did is undone. */
export function undoingView(view: TaskView): TaskView {
  const { waiting: _, ...rest } = view;
  return { ...rest, state: 'RUNNING', compensating: true };
}

export type End = Pick<TaskView, 'result' | 'resource_links' | 'error' | 'outcome'> & {
  readonly state: TaskState;
};

export function endedView(view: TaskView, end: End, now: number): TaskView {
  const change = { ...end, finished_at: timeOf(now) };
  return withEvent(withoutPauses(view), change, suffixOf(end.state), now);
}

function withoutPauses(view: TaskView): TaskView {
  if (view.waiting === undefined && view.compensating === undefined) return view;
  const { waiting: _, compensating: __, ...rest } = view;
  return rest;
}

const suffixOf = (state: TaskState): EventSuffix => {
  if (state === 'CANCELLED') return 'cancelled';
  return state === 'COMPENSATED' ? 'compensated' : 'done';
};

// ---- what leaves

export function row({ context }: OfTask): Project {
  const { payloadHash, messages, answers } = context;
  const value: TaskRowWithMessages = {
    view: viewOf(context),
    payloadHash,
    ...defined({ messages, answers }),
  };
  return { index: TASKS_INDEX, key: context.taskId, value };
}

/** For the lists of A2A clients; nothing for a task of another entry point. */
export function agentRow({ context: { view } }: OfTask): Project | undefined {
  if (view?.agent_id === undefined) return undefined;
  const { task_id, state, context_id, outcome, waiting } = view;
  const value: AgentTaskRow = {
    task_id,
    state,
    at: changedAt(view),
    ...defined({ context_id, outcome, waiting: waiting && { for: waiting.for } }),
  };
  return { index: AGENT_TASKS_INDEX, key: agentKeyOf(view, view.agent_id), value };
}

export const noAgentRow = ({ context: { view } }: OfTask): Project | undefined =>
  view?.agent_id === undefined
    ? undefined
    : { index: AGENT_TASKS_INDEX, key: agentKeyOf(view, view.agent_id), value: null };

const agentKeyOf = ({ principal, task_id }: TaskView, agentId: string): string =>
  `${agentTasksPrefix(principal, agentId)}${task_id}`;

export const noRow = ({ context }: OfTask): Project => ({
  index: TASKS_INDEX,
  key: context.taskId,
  value: null,
});

export function evidenceRow(context: TaskContext, evidence: Evidence): Project {
  const { principal, action, action_version } = viewOf(context);
  const value: EvidenceRow = { ...evidence, task: { principal, action, action_version } };
  return {
    index: EVIDENCE_INDEX,
    key: `${evidencePrefix(evidence.job_id)}${context.taskId}`,
    value,
    keepMs: EVIDENCE_KEPT_MS,
  };
}

/**
 * The newest event, for watchers of this task and for entry points, which publish it outside. An
 * earlier one of the same turn (accepted, before running) is in the view.
 */
export const publishView = ({ context }: OfTask): Publish => ({
  topic: taskTopic(context.tenant, context.taskId),
  event: newestEvent(context),
});

function newestEvent({ taskId, view }: TaskContext): { type: 'task.event' } & TaskEvent {
  const task = slim(view!);
  const { n, event, at } = task.events.at(-1)!;
  return { type: 'task.event', event, event_id: `${taskId}.${n}`, n, at, task };
}

function slim(whole: TaskView): TaskView {
  const view = withoutSealedResult(whole);
  if (view.result === undefined) return view;
  if (JSON.stringify(view.result).length <= TOLD_RESULT_MAX) return view;
  const { result: _, ...rest } = view;
  return rest;
}

/** To an actor that watches the task. */
export const changed = (context: TaskContext, to: Address): Tell => {
  const event: TaskChanged = { type: 'task.changed', task: slim(viewOf(context)) };
  return { to, event };
};

/** To the sender of this message. */
export const changedNow = on(
  'task.watch',
  ({ context, event }): Tell => changed(context, event.watcher),
);

// ---- answers

/** After the watcher was added, if there was a place. */
export const placeAnswer = on('task.reserve_watcher', ({ context, event }): Reply => {
  if (context.watchers?.includes(event.watcher)) return { to: event.meta.reply, result: null };
  const message = `a task has at most ${WATCHERS_MAX} push configurations`;
  return refused(event.meta.reply, 'RATE_LIMIT_EXCEEDED', message, { retryAfterMs: 60_000 });
});

/** The requester, also when another actor passed the message on. */
export const askerOf = (event: TaskEventIn): ReplyRef | undefined =>
  event.type === 'task.submit' && event.replyTo ? event.replyTo : event.meta.reply;

export const viewTo = (context: TaskContext, to: ReplyRef | undefined): Reply => ({
  to,
  result: viewOf(context),
});

export const answered = ({ context, event }: Args): Reply => viewTo(context, askerOf(event));

/** To a caller that is answered as soon as its task is accepted. */
export const acknowledged = ({ context, event }: Args): Reply =>
  viewTo(context, isAnsweredNow(event) ? askerOf(event) : undefined);

export const isAnsweredNow = (event: TaskEventIn): boolean =>
  event.type === 'task.submit' && event.answer === 'ack';

const refused = (
  to: ReplyRef | undefined,
  code: ErrorData['code'],
  message: string,
  options: Pick<TroupeErrorOptions, 'details' | 'retryAfterMs'> = {},
): Reply => ({ to, error: { code, message, ...options } });

/** The answer to a cancellation when the task has ended, or an operator decides. */
export function cancelAnswer(context: TaskContext, to: ReplyRef | undefined): Reply {
  const { state, task_id } = viewOf(context);
  if (state === 'CANCELLED' || state === 'COMPENSATED') return viewTo(context, to);
  const why = isFinal(state)
    ? 'it ended before the cancel came'
    : 'it is unknown whether its work was done, and an operator decides';
  const message = `the task ${task_id} is ${state}: ${why}`;
  return refused(to, 'CONFLICT', message, { details: { state, task_id } });
}

export const cancelAnswered = ({ context, event }: Args): Reply =>
  cancelAnswer(context, event.meta.reply);

/** Refuses a message that the task accepts in another state only. */
export function misplaced({ context, event }: Args): Reply {
  const { state, task_id, waiting } = viewOf(context);
  const what = waiting ? `waits for ${waiting.for}` : 'waits for nothing';
  const message = `${event.type}: the task ${task_id} is ${state} and ${what}`;
  return refused(event.meta.reply, 'CONFLICT', message, { details: { state, task_id } });
}

export const notFound = ({ context: { taskId }, event }: Args): Reply =>
  refused(event.meta.reply, 'NOT_FOUND', `there is no task ${taskId}, or it was forgotten`);

/** A new submit whose number is not above the last one of its sender. */
export const stale = on('task.submit', ({ event }): Reply => {
  const { envelope, stale: last = 0 } = event;
  const remedy =
    last < ENVELOPE_SEQ_MAX
      ? 'send a higher one'
      : 'no higher one is possible: use another subject, or send nothing for this one for 28 hours';
  const message = `seq ${envelope.seq} is not above ${last}, the last one of this sender and subject: ${remedy}`;
  return refused(askerOf(event), 'CONFLICT', message, { details: { last_seq: last } });
});

export const otherPayload = on('task.submit', ({ event }): Reply => {
  const key = event.envelope.idempotency_key;
  const message = `the idempotency_key ${JSON.stringify(key)} was used for another payload: use a new key`;
  return refused(askerOf(event), 'CONFLICT', message, { details: { idempotency_key: key } });
});

export const tooMany = ({ event }: Args): Reply =>
  refused(askerOf(event), 'RATE_LIMIT_EXCEEDED', 'too many callers wait for this task to end', {
    retryAfterMs: 1_000,
  });
