/** Guards of the task's chart: predicates about a task and its event. Pure. */
import { wallOf } from '../../protocols/statechart.ts';
import { isFinal } from '../../protocols/task.ts';
import { outputOf } from '../kit/handlers.ts';
import type { Args, OfEvent, OfTask, Outcome } from './types.ts';
import * as view from './view.ts';
import * as work from './work.ts';

// ---- submits and who waits

export const isStale = ({ event }: OfEvent) =>
  event.type === 'task.submit' && event.stale !== undefined;

export const isTooLate = ({ event }: OfEvent) =>
  event.type === 'task.submit' && wallOf(event.meta) > work.expiresAtOf(event);

/** The usual work: an effect that may be repeated, which needs no other decision. */
export const isForFunction = ({ event }: OfEvent) => {
  if (event.type !== 'task.submit') return false;
  const { performer } = event.terms;
  return performer.kind === 'function' && performer.class !== 'once';
};

export const isOfAnotherPayload = ({ context, event }: Args) =>
  event.type === 'task.submit' && event.payloadHash !== context.payloadHash;

export const wantsItsViewNow = ({ context, event }: Args) =>
  view.isAnsweredNow(event) || isFinal(view.viewOf(context).state);

export const hasRoomToWait = ({ context }: OfTask) => context.waiters.length < work.WAITERS_MAX;

export const hasRoomToCancel = ({ context }: OfTask) =>
  context.cancellers.length < work.WAITERS_MAX;

// ---- how the work is done

export const isReported = ({ context }: OfTask) => work.workOf(context).reported !== undefined;

export const isAskedOfActor = ({ context }: OfTask) => work.performerOf(context) !== undefined;

export const isOnce = ({ context }: OfTask) => {
  const { performer } = work.workOf(context).terms;
  return performer.kind === 'function' && performer.class === 'once';
};

export const isOutside = ({ context }: OfTask) =>
  work.workOf(context).terms.performer.kind === 'remote';

export const isFromPerformer = ({ context, event }: Args) =>
  event.type === 'reply' && event.meta.from === work.performerOf(context)?.to;

export const isItsResult = ({ context, event }: Args) =>
  isFromPerformer({ context, event }) && event.type === 'reply' && event.error === undefined;

// ---- outcomes of attempts

export const wantsInput = ({ context }: OfTask) =>
  work.outcomeOf(context)?.kind === 'input' && work.workOf(context).inputs.length < work.INPUTS_MAX;
export const isLost = ({ context }: OfTask) => work.outcomeOf(context)?.kind === 'lost';
export const hasExpired = ({ context }: OfTask) => work.outcomeOf(context)?.kind === 'expired';
/** The effect returned a result that ends the task. */
export const isResult = ({ event }: OfEvent) => {
  const outcome = outputOf<Outcome>(event);
  return outcome.kind === 'done' && outcome.evidence === undefined;
};
export const isDone = ({ context }: OfTask) => work.outcomeOf(context)?.kind === 'done';
export const isEvidence = ({ context }: OfTask) => work.evidenceOf(context) !== undefined;
export const mayRetry = ({ context }: OfTask) => work.mayRetry(context);
/** Trying again might have helped, but there is no attempt left. */
export const isExhausted = ({ context }: OfTask) => work.isPassing(work.outcomeOf(context));
/** The actor that did the work says that it undid it. */
export const wasUndone = ({ context }: OfTask) => work.wasUndone(context);

// ---- how it ends without success

export const isWithdrawable = ({ context }: OfTask) =>
  work.workOf(context).asked === true && work.performerOf(context)?.withdraws === true;

export const isUndoable = ({ context }: OfTask) => {
  const { agents, terms, ending } = work.workOf(context);
  // Before an agent was selected, no work can have been done outside.
  const begun = terms.performer.kind !== 'remote' || agents !== undefined;
  return terms.compensable && begun && !ending?.untouched;
};

export const isCancelled = ({ context }: OfTask) =>
  work.workOf(context).ending?.outcome === 'CANCELLED';

export const mayRetryUndoing = work.mayRetryUndoing;

// ---- decisions of operators

const decides =
  (decision: 'again' | 'done' | 'failed' | 'accept') =>
  ({ event }: OfEvent) =>
    event.type === 'task.decide' && event.decision === decision;

export const decidesAgain = decides('again');
export const decidesDone = decides('done');
export const decidesFailed = decides('failed');
export const accepts = decides('accept');
export const acceptsCancelled = ({ context, event }: Args) =>
  accepts({ event }) && isCancelled({ context });
