/**
 * Work: how a task's context changes, one pure function per action of its chart.
 *
 * Boundary: requests.ts has the requests to others, view.ts what the task publishes.
 */
import { epochMsOf } from '../../protocols/check.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, type ErrorData, isFinalCode } from '../../protocols/errors.ts';
import {
  type ActorInput,
  type Delivered,
  type ReplyRef,
  wallOf,
} from '../../protocols/statechart.ts';
import type { TaskSubmit } from '../../protocols/task.ts';
import { errorOf, outputOf } from '../kit/handlers.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import {
  type Args,
  type Ending,
  type OfTask,
  on,
  type Outcome,
  type RemoteAgent,
  type TaskContext,
  type TaskEventIn,
  type Work,
  type WorkTime,
} from './types.ts';
import * as messages from './messages.ts';
import * as view from './view.ts';

type Change = Partial<TaskContext>;
type Done = Extract<Outcome, { kind: 'done' }>;

/** Callers that may wait for one task's end, each kind. */
export const WAITERS_MAX = 16;
/** How often work may ask its caller. */
export const INPUTS_MAX = 32;
/** How long it may wait for its caller's words, all together: 24 hours. */
export const INPUT_MS_MAX = 24 * 3_600_000;
/** Details of an error beyond this are left out of the view, characters of JSON. */
const DETAILS_MAX = 16_384;
/** Attempts of the compensation before an operator decides. */
export const UNDO_ATTEMPTS_MAX = 7;

export const initialContext = ({ self, tenant, key }: ActorInput): TaskContext => ({
  self,
  tenant,
  taskId: key,
  view: null,
  payloadHash: '',
  work: null,
  waiters: [],
  cancellers: [],
});

/** Never throws: no state that calls it is reached when the task has ended. */
export function workOf({ work, self }: TaskContext): Work {
  if (!work) throw new Error(`${self} has no work any more`);
  return work;
}

const viewOf = ({ context }: OfTask) => view.viewOf(context);
const nowOf = ({ event }: Args): number => event.meta.now;
const changed = (context: TaskContext, change: Partial<Work>): Change => ({
  work: { ...workOf(context), ...change },
});

// ---- it begins

/** Epoch milliseconds after which the work of a submit does not begin. */
export const expiresAtOf = ({ envelope, redriveOf, meta }: Delivered<TaskSubmit>): number =>
  (redriveOf === undefined ? epochMsOf(envelope.timestamp) : wallOf(meta)) +
  envelope.ttl_sec * 1_000;

const accepted = (context: TaskContext, submit: Delivered<TaskSubmit>) => {
  const { envelope, terms, transport, payloadHash, redriveOf, meta } = submit;
  const work: Work = {
    envelope,
    terms,
    transport,
    ...(redriveOf === undefined ? {} : { redriveOf }),
    expiresAt: expiresAtOf(submit),
    inputs: [],
    failures: 0,
    pauseMs: 0,
    time: { leftMs: terms.etaSec * 1_000, sinceMs: meta.now, waitedMs: 0 },
  };
  const asker = view.askerOf(submit);
  const waiters = asker ? [asker] : [];
  const said = defined({ messages: messages.requested(submit) });
  const shown = view.acceptedView(context, submit, meta.now);
  return { payloadHash, view: shown, waiters, work, ...said };
};

export const accept = on('task.submit', ({ context, event }): Change => accepted(context, event));

/** The work starts in the same turn. */
export const acceptAndBegin = on('task.submit', ({ context, event }): Change => {
  const change = accepted(context, event);
  return {
    ...change,
    view: view.begunView(change.view, event.meta.now),
    ...(view.isAnsweredNow(event) ? { waiters: [] } : {}),
  };
});

const joined = (waiters: readonly ReplyRef[], asker: ReplyRef | undefined) =>
  asker ? [...waiters, asker] : waiters;

export const wait = ({ context, event }: Args): Change => ({
  waiters: joined(context.waiters, view.askerOf(event)),
});

export const waitToCancel = ({ context, event }: Args): Change => ({
  cancellers: joined(context.cancellers, event.meta.reply),
});

/** Its complete time starts again. */
const timeAnew = ({ context, event }: Args): WorkTime => {
  const { terms, time } = workOf(context);
  return { ...time, leftMs: terms.etaSec * 1_000, sinceMs: event.meta.now };
};

/** The next attempt after one that failed. */
export const tryAgain = (args: OfTask): Change => ({ view: view.resumedView(viewOf(args)) });

/** An operator requested another attempt: the attempts so far no longer count. */
export function resume(args: Args): Change {
  const { outcome: _, ending: __, asked: ___, ...work } = workOf(args.context);
  const time = timeAnew(args);
  return {
    view: view.resumedView(viewOf(args), nowOf(args)),
    work: { ...work, failures: 0, time },
  };
}

export const onInput = on('task.input', ({ context, event }): Change => {
  const { inputs, time } = workOf(context);
  const { input, meta } = event;
  const waitedMs = time.waitedMs + meta.now - time.sinceMs;
  const was = viewOf({ context });
  return {
    view: view.resumedView(was, meta.now),
    ...defined({
      messages: messages.answeredWith(context.messages, was, event),
      answers: messages.answersWith(context.answers, event),
    }),
    ...changed(context, {
      inputs: [...inputs, input],
      failures: 0,
      time: { leftMs: time.leftMs, sinceMs: meta.now, waitedMs },
    }),
  };
});

// ---- its attempts

/** The one actor that does the work. */
export const performerOf = (context: TaskContext) => {
  const { performer } = workOf(context).terms;
  return performer.kind === 'actor' ? performer : undefined;
};

export const noteAsked = ({ context }: OfTask): Change => changed(context, { asked: true });

/** A result still has to be checked, an error is an outcome. */
export const onReply = on('reply', ({ context, event }): Change => {
  const { error, result = null } = event;
  const { asked: _, ...work } = workOf(context);
  if (error) return { work: { ...work, outcome: { kind: 'failed', error } } };
  return { work: { ...work, reported: { result } } };
});

/** The actor had finished before it was stopped: the task continues as without the request. */
export const onLateReply = on('reply', (args): Change => {
  const { work } = onReply(args);
  const { ending: _, ...rest } = work!;
  return { work: { ...rest, time: timeAnew(args) }, view: view.resultedView(viewOf(args)) };
});

/** Of the effect that chose an agent outside. */
export function onAgentChosen({ context, event }: Args): Change {
  const chosen = outputOf<RemoteAgent>(event);
  const { agents = [] } = workOf(context);
  const others = agents.filter((one) => one.agent_id !== chosen.agent_id || one.url !== chosen.url);
  return changed(context, { agents: [...others, chosen] });
}

/** Of an effect's done or error event. */
export function onOutcome({ context, event }: Args): Change {
  const outcome: Outcome =
    'output' in event
      ? outputOf<Outcome>(event)
      : { kind: 'failed', error: errorData(errorOf(event)) };
  const { reported: _, ...work } = workOf(context);
  return { work: { ...work, outcome } };
}

export const outcomeOf = (context: TaskContext): Outcome | undefined => workOf(context).outcome;

export const evidenceOf = (context: TaskContext) => {
  const outcome = outcomeOf(context);
  return outcome?.kind === 'done' ? outcome.evidence : undefined;
};

/** Whether an attempt failed in a way that may pass. */
export const isPassing = (outcome: Outcome | undefined): boolean =>
  outcome?.kind === 'failed' && !outcome.final && !isFinalCode(outcome.error.code);

export function mayRetry(context: TaskContext): boolean {
  const { outcome, failures, terms } = workOf(context);
  return isPassing(outcome) && failures + 1 < terms.attemptsMax;
}

/** The actor that did the work says that it undid it. */
export function wasUndone(context: TaskContext): boolean {
  const outcome = outcomeOf(context);
  return outcome?.kind === 'failed' && outcome.error.details?.['compensated'] === true;
}

function failedOnce(context: TaskContext, event: TaskEventIn, error: ErrorData): Change {
  const { failures: before, terms } = workOf(context);
  const failures = before + 1;
  const pauseMs = pauseMsOf(terms.backoffMs, failures, { seed: event.meta.id, error });
  return changed(context, { failures, pauseMs, error });
}

export function countFailure({ context, event }: Args): Change {
  const outcome = outcomeOf(context);
  return outcome?.kind === 'failed' ? failedOnce(context, event, outcome.error) : {};
}

// ---- waiting for input

export function awaitInput(args: Args): Change {
  const outcome = outcomeOf(args.context);
  if (outcome?.kind !== 'input') return {};
  const { kind: _, ...waiting } = outcome;
  const { time } = workOf(args.context);
  const now = nowOf(args);
  const leftMs = Math.max(0, time.leftMs - (now - time.sinceMs));
  return {
    view: view.waitingView(viewOf(args), { ...waiting, state: 'RUNNING' }, now),
    ...changed(args.context, { time: { ...time, leftMs, sinceMs: now } }),
  };
}

export function awaitDecision(args: Args): Change {
  const outcome = outcomeOf(args.context);
  const why = outcome?.kind === 'lost' ? outcome.why : 'the actor that does the work is silent';
  const prompt = `${why}. Find out whether the work was done, then decide: done, failed, or again to do it once more`;
  const waiting = { for: 'decision', prompt, state: 'UNKNOWN' } as const;
  return { view: view.waitingView(viewOf(args), waiting, nowOf(args)) };
}

/** Who decided what, when and why stays in the view. */
export const noteDecision = on(
  'task.decide',
  (args): Change => ({
    view: view.decidedView(viewOf(args), args.event),
  }),
);

/** An operator decides that the work was done. */
export const noteDone = on('task.decide', (args): Change => {
  const { result = null } = args.event;
  const { outcome: _, ending: __, asked: ___, ...rest } = workOf(args.context);
  const work = { ...rest, reported: { result }, time: timeAnew(args) };
  return { view: view.resultedView(viewOf(args)), work };
});

// ---- it ends without success

const ends = (context: TaskContext, ending: Ending): Change => changed(context, { ending });

export function endAsFailed({ context }: OfTask): Change {
  return ends(context, endingOf(context));
}

/** How it ends by its last outcome, unless something else has ended it before. */
export function endingOf(context: TaskContext): Ending {
  const { ending, outcome } = workOf(context);
  if (ending) return ending;
  const failed = outcome?.kind === 'failed' ? outcome : undefined;
  const error: ErrorData = failed?.error ?? {
    code: 'INTERNAL',
    message: `the work of the task ${context.taskId} asked its caller more than ${INPUTS_MAX} times`,
  };
  const untouched = isFinalCode(error.code) && !failed?.final && view.viewOf(context).attempt === 1;
  return { outcome: 'FAILED', error, ...(untouched ? { untouched } : {}) };
}

export function endAsLate({ context }: OfTask): Change {
  const { error, terms } = workOf(context);
  const before = error ? `; its last attempt failed: ${error.message}` : '';
  const message = `the task ${context.taskId} was not done within ${terms.etaSec} s${before}`;
  return ends(context, { outcome: 'FAILED', error: { code: 'DEADLINE_EXCEEDED', message } });
}

/** The awaited input or decision did not arrive. */
export function endAsUnanswered({ context }: OfTask): Change {
  const asked = view.viewOf(context).waiting?.for ?? 'input';
  const message = `the task ${context.taskId} waited for ${asked} for as long as a task may, 24 hours in all`;
  return ends(context, { outcome: 'FAILED', error: { code: 'DEADLINE_EXCEEDED', message } });
}

export const endAsCancelled = on('task.cancel', ({ context, event }): Change => {
  const { reason } = event;
  const message = `the task ${context.taskId} was cancelled${reason ? `: ${reason}` : ''}`;
  return ends(context, { outcome: 'CANCELLED', error: { code: 'CANCELLED', message } });
});

/** An actor that was silent is not waited for again. */
export const endAsDecided = on('task.decide', ({ context, event }): Change => {
  const { why } = event;
  const message = `the outcome of the task ${context.taskId} was lost, and an operator decided that it failed: ${why}`;
  const ending: Ending = { outcome: 'FAILED', error: { code: 'INTERNAL', message } };
  const { asked: _, ...work } = workOf(context);
  return { work: { ...work, ending } };
});

// ---- what it did is undone

export const beginUndoing = ({ context }: OfTask): Change => ({
  view: view.undoingView(viewOf({ context })),
  ...changed(context, { failures: 0, pauseMs: 0 }),
});

/** Of an effect's error event. */
const errorIn = (event: TaskEventIn): ErrorData => errorData(errorOf(event));

export const mayRetryUndoing = ({ context, event }: Args): boolean =>
  !isFinalCode(errorIn(event).code) && workOf(context).failures + 1 < UNDO_ATTEMPTS_MAX;

export const countUndoFailure = ({ context, event }: Args): Change =>
  failedOnce(context, event, errorIn(event));

export function stick(args: Args): Change {
  const { error } = workOf(args.context);
  const prompt = `undoing the work of this task failed: ${error?.message ?? 'the reason is unknown'}. Decide: again, done when you undid it by hand, or accept to leave it as it is`;
  const waiting = { for: 'decision', prompt, state: 'RUNNING' } as const;
  return { view: view.waitingView(viewOf(args), waiting, nowOf(args)) };
}

// ---- it has ended

const ended = (args: Args, end: view.End): Change => ({
  view: view.endedView(viewOf(args), end, nowOf(args)),
  work: null,
});

const succeededBy = (args: Args, { result, resourceLinks }: Done): Change => {
  const links = resourceLinks ? { resource_links: [...resourceLinks] } : {};
  return ended(args, { state: 'SUCCEEDED', result, ...links });
};

export function succeed(args: Args): Change {
  const outcome = outcomeOf(args.context);
  return outcome?.kind === 'done' ? succeededBy(args, outcome) : {};
}

/** With the result of the effect that has just ended. */
export const succeedWith = (args: Args): Change => succeededBy(args, outputOf<Done>(args.event));

export function expire(args: Args): Change {
  const { expiresAt } = workOf(args.context);
  const message = `the task ${args.context.taskId} did not begin before ${new Date(expiresAt).toISOString()}, which timestamp and ttl_sec of its envelope allow`;
  return ended(args, { state: 'EXPIRED', error: { code: 'EXPIRED', message } });
}

const wired = ({ code, message, details }: ErrorData): NonNullable<view.End['error']> => ({
  code,
  message,
  ...(details && JSON.stringify(details).length <= DETAILS_MAX ? { details } : {}),
});

/** FAILED or CANCELLED, as its ending says. */
export function giveUp(args: Args): Change {
  const { outcome, error } = endingOf(args.context);
  return ended(args, { state: outcome, error: wired(error) });
}

export function endUndone(args: Args): Change {
  const { outcome, error } = endingOf(args.context);
  return ended(args, { state: 'COMPENSATED', outcome, error: wired(error) });
}

/** An operator accepted that the work is not undone. */
export const endNotUndone = on('task.decide', (args): Change => {
  const { outcome, error } = endingOf(args.context);
  const { why } = args.event;
  const message = `${error.message}. What it did could not be undone, and an operator accepted that: ${why}`;
  const details = { ...error.details, compensated: false };
  return ended(args, { state: outcome, error: wired({ code: error.code, message, details }) });
});
