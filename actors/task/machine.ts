/**
 * Task: what becomes of one envelope (EN7, EN8, EN11). Address `taskAddress`; its id is made of
 * what its idempotency key is scoped to, so a repeat finds it (EN3). Row: index `tasks`.
 *
 *  - `fresh`: nothing was accepted yet. A submit that comes too late in its sender's order is
 *    `refused`, and nothing of it stays.
 *  - `acked`: accepted, which is durable; it goes on in the same turn.
 *  - `running`: the work is carried out: an effect (`performing`), one that must never run twice in
 *    silence (`performingOnce`), an actor that is asked (`delegating`), whose answer is checked
 *    (`checking`), or an agent outside, which is chosen first (`choosing`). What came of it is
 *    dealt with in `settling`. Between attempts it is `backingOff`; after the last attempt, or when
 *    its time is up, it is `givingUp`.
 *  - `awaitingInput`: the work needs a word of its caller. Meanwhile its own time stands still; all
 *    that it waits is bounded by 24 hours.
 *  - `unknown`: nobody knows whether the work was done; a person decides.
 *  - `ending`: it ends without success; what it may have done is undone first: by the actor that
 *    did it (`withdrawing`), or by `compensating`, where a compensation that fails is `stuck` until
 *    a person decides.
 *  - `ended`: what is final outward. Remembered for 28 hours, then `forgotten`.
 *
 * Invariants: a final state is reached once and never left but to be forgotten; every turn that
 * changes the view projects it; whoever asked is answered exactly once, a repeat like the first;
 * cancel and completion meet here, and the first in the journal counts; an attempt that is not the
 * present one changes nothing; an agent outside is in the journal before it is asked, so that
 * whoever was asked is asked to undo.
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
  },
  states: {
    fresh: {
      description: 'Nothing was accepted yet; the first message decides whether a task exists.',
      on: {
        'task.submit': [
          { guard: 'isStale', target: 'refused', actions: { type: 'reply', params: view.stale } },
          { target: 'acked', actions: 'accept' },
        ],
        'task.cancel': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
        'task.input': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
        'task.decide': { target: 'refused', actions: { type: 'reply', params: view.notFound } },
      },
    },
    refused: { description: 'The submit was refused; nothing is stored.', type: 'final' },
    acked: {
      description: 'The task was accepted and stored; work starts in the same turn.',
      always: [
        { guard: 'isTooLate', target: 'ended.expired', actions: 'expire' },
        {
          guard: 'isAnsweredNow',
          target: 'running',
          actions: ['begin', { type: 'publish', params: view.publishView }, 'answerAll'],
        },
        {
          target: 'running',
          actions: ['begin', { type: 'publish', params: view.publishView }],
        },
      ],
    },
    running: {
      description: 'The work runs, within the time limit of its action.',
      entry: { type: 'project', params: view.row },
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
            onDone: { target: 'performing', actions: 'takeChoice' },
            onError: { target: 'settling', actions: 'takeOutcome' },
          },
        },
        performing: {
          description: 'The work runs. It may be repeated: it has one idempotency key.',
          invoke: {
            id: 'perform',
            src: 'perform',
            input: requests.performInput,
            onDone: { target: 'settling', actions: 'takeOutcome' },
            onError: { target: 'settling', actions: 'takeOutcome' },
          },
        },
        performingOnce: {
          description: 'The work runs, and is not repeated until its outcome is known.',
          invoke: {
            id: 'performOnce',
            src: 'performOnce',
            input: requests.performInput,
            onDone: { target: 'settling', actions: 'takeOutcome' },
            onError: { target: 'settling', actions: 'takeOutcome' },
          },
        },
        delegating: {
          description: 'An actor was asked to perform the work.',
          entry: ['noteAsked', { type: 'tell', params: requests.askActor }],
          on: {
            reply: { guard: 'isFromPerformer', target: 'reported', actions: 'takeReply' },
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
            onDone: { target: 'settling', actions: 'takeOutcome' },
            onError: { target: 'settling', actions: 'takeOutcome' },
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
              actions: ['tryAgain', { type: 'project', params: view.row }],
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
      entry: { type: 'project', params: view.row },
      on: {
        'task.input': {
          target: 'running',
          actions: ['takeInput', { type: 'reply', params: view.answered }],
        },
        'task.cancel': { target: 'ending', actions: ['waitToCancel', 'endAsCancelled'] },
      },
      after: {
        inputTime: { target: 'running.givingUp', actions: 'endAsUnanswered' },
      },
    },
    unknown: {
      description:
        'The outcome is unknown: an operator decides, unless the actor that was told to stop still answers.',
      entry: ['awaitDecision', { type: 'project', params: view.row }],
      on: {
        reply: [
          { guard: 'isItsResult', target: 'running', actions: 'takeLateReply' },
          { guard: 'isFromPerformer', target: 'withdrawn', actions: 'takeReply' },
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
      description: 'The task ends without success; first, whatever was done is undone.',
      always: [
        { guard: 'isWithdrawable', target: 'withdrawing' },
        { guard: 'isUndoable', target: 'compensating' },
        { guard: 'isCancelled', target: 'ended.cancelled', actions: 'giveUp' },
        { target: 'ended.failed', actions: 'giveUp' },
      ],
    },
    withdrawing: {
      description: 'The performing actor was told to stop and to undo its work.',
      entry: [
        'beginUndoing',
        { type: 'project', params: view.row },
        { type: 'tell', params: requests.withdraw },
      ],
      on: {
        reply: [
          { guard: 'isItsResult', target: 'running', actions: 'takeLateReply' },
          { guard: 'isFromPerformer', target: 'withdrawn', actions: 'takeReply' },
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
      entry: ['beginUndoing', { type: 'project', params: view.row }],
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
      entry: [
        { type: 'publish', params: view.publishView },
        { type: 'project', params: view.row },
        'answerAll',
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
      entry: { type: 'project', params: view.noRow },
      type: 'final',
    },
  },
});
