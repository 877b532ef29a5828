/**
 * Setup: the names that the task's chart uses: types, effects, actions, guards and delays. Each is
 * one function of work.ts (changes), view.ts (rows, events and answers), requests.ts (requests to
 * others) or guards.ts.
 */
import { assign, enqueueActions, setup } from 'xstate';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { TASK_RETENTION_MS } from '../../protocols/task.ts';
import * as guards from './guards.ts';
import type {
  RemoteAgent,
  CheckInput,
  CompensateInput,
  Outcome,
  PerformInput,
  TaskContext,
  TaskEventIn,
} from './types.ts';
import * as view from './view.ts';
import * as watchers from './watchers.ts';
import * as work from './work.ts';

export const taskSetup = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEventIn,
    input: {} as ActorInput,
  },
  actors: {
    choose: effect<RemoteAgent, PerformInput>(),
    perform: effect<Outcome, PerformInput>(),
    performOnce: effect<Outcome, PerformInput>(),
    check: effect<Outcome, CheckInput>(),
    compensate: effect<null, CompensateInput>(),
  },
  actions: {
    ...hostActions,
    accept: assign(work.accept),
    wait: assign(work.wait),
    waitToCancel: assign(work.waitToCancel),
    acceptAndBegin: assign(work.acceptAndBegin),
    tryAgain: assign(work.tryAgain),
    resume: assign(work.resume),
    onInput: assign(work.onInput),
    noteAsked: assign(work.noteAsked),
    onReply: assign(work.onReply),
    onLateReply: assign(work.onLateReply),
    onAgentChosen: assign(work.onAgentChosen),
    onOutcome: assign(work.onOutcome),
    countFailure: assign(work.countFailure),
    awaitInput: assign(work.awaitInput),
    awaitDecision: assign(work.awaitDecision),
    noteDone: assign(work.noteDone),
    noteDecision: assign(work.noteDecision),
    endAsFailed: assign(work.endAsFailed),
    endAsLate: assign(work.endAsLate),
    endAsUnanswered: assign(work.endAsUnanswered),
    endAsCancelled: assign(work.endAsCancelled),
    endAsDecided: assign(work.endAsDecided),
    beginUndoing: assign(work.beginUndoing),
    countUndoFailure: assign(work.countUndoFailure),
    stick: assign(work.stick),
    succeed: assign(work.succeed),
    succeedWith: assign(work.succeedWith),
    expire: assign(work.expire),
    giveUp: assign(work.giveUp),
    endUndone: assign(work.endUndone),
    endNotUndone: assign(work.endNotUndone),
    watch: assign(watchers.watch),
    unwatch: assign(watchers.unwatch),
    tellWatchers: enqueueActions(({ context, enqueue }) => {
      for (const to of context.watchers ?? [])
        enqueue({ type: 'tell', params: view.changed(context, to) });
    }),
    answerAll: enqueueActions(({ context, enqueue }) => {
      if (context.waiters.length + context.cancellers.length === 0) return;
      for (const to of context.waiters)
        enqueue({ type: 'reply', params: view.viewTo(context, to) });
      for (const to of context.cancellers)
        enqueue({ type: 'reply', params: view.cancelAnswer(context, to) });
      enqueue.assign({ waiters: [], cancellers: [] });
    }),
  },
  guards: {
    isStale: guards.isStale,
    isTooLate: guards.isTooLate,
    isForFunction: guards.isForFunction,
    isOfAnotherPayload: guards.isOfAnotherPayload,
    wantsItsViewNow: guards.wantsItsViewNow,
    hasRoomToWait: guards.hasRoomToWait,
    hasRoomToCancel: guards.hasRoomToCancel,
    mayWatch: watchers.mayWatch,
    isWatcher: watchers.isWatcher,
    isReported: guards.isReported,
    isAskedOfActor: guards.isAskedOfActor,
    isOnce: guards.isOnce,
    isOutside: guards.isOutside,
    isFromPerformer: guards.isFromPerformer,
    isItsResult: guards.isItsResult,
    wantsInput: guards.wantsInput,
    isLost: guards.isLost,
    hasExpired: guards.hasExpired,
    isResult: guards.isResult,
    isDone: guards.isDone,
    isEvidence: guards.isEvidence,
    mayRetry: guards.mayRetry,
    isExhausted: guards.isExhausted,
    wasUndone: guards.wasUndone,
    isWithdrawable: guards.isWithdrawable,
    isUndoable: guards.isUndoable,
    isCancelled: guards.isCancelled,
    mayRetryUndoing: guards.mayRetryUndoing,
    decidesAgain: guards.decidesAgain,
    decidesDone: guards.decidesDone,
    decidesFailed: guards.decidesFailed,
    accepts: guards.accepts,
    acceptsCancelled: guards.acceptsCancelled,
  },
  delays: {
    eta: ({ context }) => work.workOf(context).time.leftMs,
    inputTime: ({ context }) => work.INPUT_MS_MAX - work.workOf(context).time.waitedMs,
    pause: ({ context }) => work.workOf(context).pauseMs,
    withdrawalTime: 24 * 3_600_000,
    retention: TASK_RETENTION_MS,
  },
});
