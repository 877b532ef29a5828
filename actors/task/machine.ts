/**
 * Task: the life of one envelope. The address `taskAddress` is derived from the scope of the
 * idempotency key, so that a repeat reaches the same actor. Row: index `tasks`.
 *
 * The work is an effect (`performing`), an effect that is never repeated (`performingOnce`), a
 * message to an actor (`delegating`) whose result is checked (`checking`), or a call of an external
 * agent, which is chosen first (`choosing`). `settling` records the outcome of an attempt. `ending`
 * undoes the work: the performing actor does it (`withdrawing`), or a compensation
 * (`compensating`); a failed compensation is `stuck` until an operator decides.
 *
 * Invariants: a task reaches one final state and keeps it until it is removed; each turn that
 * changes the view projects it; each caller is answered exactly once, a repeat with the same
 * answer; of a cancel and a completion, the first in the journal counts; an attempt that is not the
 * current one changes nothing; an external agent is stored in the journal before it is called, so
 * that every agent that was called is also called to undo.
 */
import { taskSetup } from './setup.ts';
import * as requests from './requests.ts';
import * as view from './view.ts';
import * as work from './work.ts';

export const taskMachine = taskSetup.createMachine({
  id: 'task',
  context: ({ input }) => work.initialContext(input),
  initial: 'fresh',
  options: { maxIterations: 100 },
  on: {
    'task.submit': [
      { guard: 'isOfAnotherPayload', actions: { type: 'reply', params: view.otherPayload } },
      { guard: 'wantsItsViewNow', actions: { type: 'reply', params: view.answered } },
      { guard: 'hasRoomToWait', actions: 'wait' },
      { actions: { type: 'reply', params: view.tooMany } },
    ],
    'task.input': { actions: { type: 'reply', params: view.misplaced } },
    'task.decide': { actions: { type: 'reply', params: view.misplaced } },
    'task.watch': {
      guard: 'mayWatch',
      actions: ['watch', { type: 'tell', params: view.changedNow }],
    },
    'task.reserve_watcher': { actions: ['watch', { type: 'reply', params: view.placeAnswer }] },
    'task.unwatch': { guard: 'isWatcher', actions: 'unwatch' },
  },
  states: {
    fresh: {
      description: 'No message was accepted yet; the first message decides whether a task exists.',
      on: {
        'task.submit': [
          { guard: 'isStale', target: 'refused', actions: { type: 'reply', params: view.stale } },
          { guard: 'isTooLate', target: 'ended.expired', actions: ['accept', 'expire'] },
          {
            guard: 'isForFunction',
            target: 'running.performing',
            actions: [
              'acceptAndBegin',
              { type: 'publish', params: view.publishView },
              { type: 'reply', params: view.acknowledged },
            ],
          },
          {
            target: 'running',
            actions: [
              'acceptAndBegin',
              { type: 'publish', params: view.publishView },
              { type: 'reply', params: view.acknowledged },
            ],
          },
        ],
        'task.cancel': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
        'task.input': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
        'task.decide': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
        'task.watch': { target: 'refused' },
        'task.unwatch': { target: 'refused' },
        'task.reserve_watcher': {
          target: 'refused',
          actions: { type: 'reply', params: view.notFound },
        },
      },
    },
    refused: { description: 'The submit was refused; nothing is stored.', type: 'final' },
    running: {
      description: 'The work runs, within the time limit of its action.',
      entry: [
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
      ],
      initial: 'assigning',
      on: {
        'task.cancel': { target: 'ending', actions: ['waitToCancel', 'endAsCancelled'] },
      },
      after: {
        eta: { target: '.givingUp', actions: 'endAsLate' },
      },
      states: {
        assigning: {
          description: 'Chooses who performs the work.',
          always: [
            { guard: 'isReported', target: 'checking' },
            { guard: 'isAskedOfActor', target: 'delegating' },
            { guard: 'isOnce', target: 'performingOnce' },
            { guard: 'isOutside', target: 'choosing' },
            { target: 'performing' },
          ],
        },
        choosing: {
          description: 'Chooses an external agent and stores the choice before calling it.',
          invoke: {
            id: 'choose',
            src: 'choose',
            input: requests.performInput,
            onDone: { target: 'performing', actions: 'onAgentChosen' },
            onError: { target: 'settling', actions: 'onOutcome' },
          },
        },
        performing: {
          description: 'The work runs. It may be repeated: it has one idempotency key.',
          invoke: {
            id: 'perform',
            src: 'perform',
            input: requests.performInput,
            onDone: [
              { guard: 'isResult', target: '#task.ended.succeeded', actions: 'succeedWith' },
              { target: 'settling', actions: 'onOutcome' },
            ],
            onError: { target: 'settling', actions: 'onOutcome' },
          },
        },
        performingOnce: {
          description: 'The work runs, and is not repeated until its outcome is known.',
          invoke: {
            id: 'performOnce',
            src: 'performOnce',
            input: requests.performInput,
            onDone: { target: 'settling', actions: 'onOutcome' },
            onError: { target: 'settling', actions: 'onOutcome' },
          },
        },
        delegating: {
          description: 'An actor was asked to perform the work.',
          entry: ['noteAsked', { type: 'tell', params: requests.askActor }],
          on: {
            reply: { guard: 'isFromPerformer', target: 'reported', actions: 'onReply' },
          },
        },
        reported: {
          description: 'The actor answered: a result is checked, an error is recorded.',
          always: [{ guard: 'isReported', target: 'checking' }, { target: 'settling' }],
        },
        checking: {
          description:
            'Checks a result that arrived by message, as a result of an effect is checked.',
          invoke: {
            id: 'check',
            src: 'check',
            input: requests.checkInput,
            onDone: { target: 'settling', actions: 'onOutcome' },
            onError: { target: 'settling', actions: 'onOutcome' },
          },
        },
        settling: {
          description: 'An attempt has ended.',
          always: [
            {
              guard: 'isEvidence',
              target: '#task.ended.succeeded',
              actions: [{ type: 'project', params: requests.evidence }, 'succeed'],
            },
            { guard: 'isDone', target: '#task.ended.succeeded', actions: 'succeed' },
            {
              guard: 'wantsInput',
              target: '#task.awaitingInput',
              actions: 'awaitInput',
            },
            { guard: 'isLost', target: '#task.unknown' },
            { guard: 'hasExpired', target: '#task.ended.expired', actions: 'expire' },
            { guard: 'wasUndone', target: '#task.ended.compensated', actions: 'endUndone' },
            { guard: 'mayRetry', target: 'backingOff', actions: 'countFailure' },
            { guard: 'isExhausted', target: 'givingUp', actions: 'endAsFailed' },
            { target: '#task.ending', actions: 'endAsFailed' },
          ],
        },
        backingOff: {
          description: 'The attempt failed with a retriable error; the next attempt waits.',
          after: {
            pause: {
              target: 'assigning',
              actions: [
                'tryAgain',
                { type: 'project', params: view.row },
                { type: 'project', params: view.agentRow },
              ],
            },
          },
        },
        givingUp: {
          description: 'The work failed; its dead letter states the reason and can be redriven.',
          entry: { type: 'deadLetter', params: requests.deadWork },
          always: { target: '#task.ending' },
        },
      },
    },
    awaitingInput: {
      description: 'The work needs input from its caller. Its time limit is paused.',
      entry: [
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
        'tellWatchers',
      ],
      on: {
        'task.input': {
          target: 'running',
          actions: ['onInput', { type: 'reply', params: view.answered }],
        },
        'task.cancel': { target: 'ending', actions: ['waitToCancel', 'endAsCancelled'] },
      },
      after: {
        inputTime: { target: 'running.givingUp', actions: 'endAsUnanswered' },
      },
    },
    unknown: {
      description:
        'The outcome is unknown: an operator decides, unless the stopped actor still answers.',
      entry: [
        'awaitDecision',
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
      ],
      on: {
        reply: [
          { guard: 'isItsResult', target: 'running', actions: 'onLateReply' },
          { guard: 'isFromPerformer', target: 'withdrawn', actions: 'onReply' },
        ],
        'task.decide': [
          {
            guard: 'decidesAgain',
            target: 'running',
            actions: ['noteDecision', 'resume', { type: 'reply', params: view.answered }],
          },
          {
            guard: 'decidesDone',
            target: 'running',
            actions: ['noteDecision', 'noteDone', { type: 'reply', params: view.answered }],
          },
          {
            guard: 'decidesFailed',
            target: 'ending',
            actions: ['noteDecision', 'wait', 'endAsDecided'],
          },
          { actions: { type: 'reply', params: view.misplaced } },
        ],
        'task.cancel': { actions: { type: 'reply', params: view.cancelAnswered } },
      },
    },
    ending: {
      description:
        'The work failed or was cancelled; completed work is undone before the task ends.',
      always: [
        { guard: 'isWithdrawable', target: 'withdrawing' },
        { guard: 'isUndoable', target: 'compensating' },
        { guard: 'isCancelled', target: 'ended.cancelled', actions: 'giveUp' },
        { target: 'ended.failed', actions: 'giveUp' },
      ],
    },
    withdrawing: {
      description: 'The performing actor was asked to stop and to undo its work.',
      entry: [
        'beginUndoing',
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
        { type: 'tell', params: requests.withdraw },
      ],
      on: {
        reply: [
          { guard: 'isItsResult', target: 'running', actions: 'onLateReply' },
          { guard: 'isFromPerformer', target: 'withdrawn', actions: 'onReply' },
        ],
        'task.cancel': [
          { guard: 'hasRoomToCancel', actions: 'waitToCancel' },
          { actions: { type: 'reply', params: view.tooMany } },
        ],
      },
      after: { withdrawalTime: 'unknown' },
    },
    withdrawn: {
      description: 'The actor stopped; checks whether it undid its work.',
      always: [
        { guard: 'wasUndone', target: 'ended.compensated', actions: 'endUndone' },
        { target: 'ending' },
      ],
    },
    compensating: {
      description:
        'Undoes what was done or may have been done. Callers still see the task as running.',
      entry: [
        'beginUndoing',
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
      ],
      initial: 'undoing',
      on: {
        'task.cancel': [
          { guard: 'hasRoomToCancel', actions: 'waitToCancel' },
          { actions: { type: 'reply', params: view.tooMany } },
        ],
      },
      states: {
        undoing: {
          description: 'The compensation runs.',
          invoke: {
            id: 'compensate',
            src: 'compensate',
            input: requests.compensateInput,
            onDone: { target: '#task.ended.compensated', actions: 'endUndone' },
            onError: [
              { guard: 'mayRetryUndoing', target: 'backingOff', actions: 'countUndoFailure' },
              { target: 'stuck', actions: 'countUndoFailure' },
            ],
          },
        },
        backingOff: {
          description: 'The compensation failed with a retriable error; the next attempt waits.',
          after: { pause: { target: 'undoing' } },
        },
        stuck: {
          description: 'The compensation failed permanently; an operator decides and is notified.',
          entry: [
            'stick',
            { type: 'project', params: view.row },
            { type: 'project', params: view.agentRow },
            { type: 'deadLetter', params: requests.deadUndoing },
          ],
          on: {
            'task.decide': [
              {
                guard: 'decidesAgain',
                target: 'undoing',
                actions: [
                  'noteDecision',
                  'beginUndoing',
                  { type: 'project', params: view.row },
                  { type: 'project', params: view.agentRow },
                  { type: 'reply', params: view.answered },
                ],
              },
              {
                guard: 'decidesDone',
                target: '#task.ended.compensated',
                actions: ['noteDecision', 'wait', 'endUndone'],
              },
              {
                guard: 'acceptsCancelled',
                target: '#task.ended.cancelled',
                actions: ['noteDecision', 'wait', 'endNotUndone'],
              },
              {
                guard: 'accepts',
                target: '#task.ended.failed',
                actions: ['noteDecision', 'wait', 'endNotUndone'],
              },
              { actions: { type: 'reply', params: view.misplaced } },
            ],
          },
        },
      },
    },
    ended: {
      description: 'The outcome is final and is kept for 28 hours, so that repeats find it.',
      meta: { passivate: true },
      entry: [
        { type: 'publish', params: view.publishView },
        { type: 'project', params: view.row },
        { type: 'project', params: view.agentRow },
        'answerAll',
        'tellWatchers',
      ],
      initial: 'succeeded',
      on: {
        'task.cancel': { actions: { type: 'reply', params: view.cancelAnswered } },
      },
      after: { retention: 'forgotten' },
      states: {
        succeeded: { description: 'The work was done.' },
        failed: { description: 'The work failed.' },
        cancelled: { description: 'The task was cancelled and the work was given up.' },
        compensated: { description: 'The work was undone.' },
        expired: { description: 'The work did not start in time.' },
      },
    },
    forgotten: {
      description: 'The retention time is over; nothing is kept.',
      entry: [
        { type: 'project', params: view.noRow },
        { type: 'project', params: view.noAgentRow },
      ],
      type: 'final',
    },
  },
});
