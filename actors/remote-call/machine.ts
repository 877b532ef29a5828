/**
 * Remote call: one call of an agent's tool to a program outside. Address: `remoteCallAddress`; row:
 * index `remote-calls`.
 *
 * Invariants: a call of class `once` is requested again only after a request that was certainly not
 * made; a task outside is stored before it is asked about; everyone who asked gets the same answer;
 * a call ends within its time limit, and its answer is kept longer than a repeat may come.
 */
import { assign, setup } from 'xstate';
import type { RemoteCall, RemoteStep } from '../../protocols/remote-call.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { action } from '../kit/handlers.ts';
import * as messages from './messages.ts';
import * as progress from './progress.ts';
import type { Args, CallContext, CallEvent, Started } from './types.ts';

const RETENTION_MS = 24 * 3_600_000;
/** Armed after the retention time, so also after a start of a system that was down during it. */
const LAST_CHANCE_MS = 3_600_000;

/** A task of a call, for the requests about it. */
export type TaskOfCall = { readonly call: RemoteCall; readonly handle: unknown };

export const remoteCallMachine = setup({
  types: { context: {} as CallContext, events: {} as CallEvent, input: {} as ActorInput },
  actors: {
    start: effect<Started, RemoteCall>(),
    startOnce: effect<Started, RemoteCall>(),
    follow: effect<RemoteStep, TaskOfCall>(),
    cancel: effect<null, TaskOfCall>(),
  },
  actions: {
    ...hostActions,
    begin: assign(progress.begin),
    wait: assign(progress.wait),
    noteMade: assign(progress.noteMade),
    noteTask: assign(progress.noteTask),
    noteFailure: assign(progress.noteFailure),
    noteResult: assign(progress.noteResult),
    noteError: assign(progress.noteError),
    noteLate: assign(progress.noteLate),
    noteCancelled: assign(progress.noteCancelled),
    answerAll: action(messages.answers, (_: Args, send) => ({ change: { waiters: [] }, send })),
  },
  guards: {
    isOnce: progress.isOnce,
    isRunning: progress.isRunning,
    hasTask: progress.hasTask,
    mayStartAgain: progress.mayStartAgain,
    isGone: progress.isGone,
    mayCancelAgain: progress.mayCancelAgain,
  },
  delays: {
    pause: ({ context }) => context.pauseMs,
    timeLimit: ({ context }) => progress.callOf(context).timeoutMs,
    retention: RETENTION_MS,
    lastChance: LAST_CHANCE_MS,
  },
}).createMachine({
  id: 'remote-call',
  description: 'One call of an agent to a program outside.',
  context: ({ input }) => progress.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 100 },
  states: {
    unused: {
      description: 'No call was started.',
      on: {
        'remote-call.start': { target: 'open', actions: 'begin' },
        'remote-call.cancel': {
          target: 'unknown',
          actions: { type: 'reply', params: messages.cancelNoted },
        },
      },
    },
    open: {
      description: 'The call is under way.',
      initial: 'choosing',
      after: {
        timeLimit: [
          { guard: 'hasTask', target: 'cancelling', actions: 'noteLate' },
          { target: 'ended', actions: 'noteLate' },
        ],
      },
      on: {
        'remote-call.start': { actions: 'wait' },
        'remote-call.cancel': [
          {
            guard: 'hasTask',
            target: 'cancelling',
            actions: ['noteCancelled', { type: 'reply', params: messages.cancelNoted }],
          },
          {
            target: 'ended',
            actions: ['noteCancelled', { type: 'reply', params: messages.cancelNoted }],
          },
        ],
      },
      states: {
        choosing: {
          description: 'Chooses how to call: whether a repeat would do harm.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'starting' }) },
          always: [{ guard: 'isOnce', target: 'startingOnce' }, { target: 'starting' }],
        },
        starting: {
          description: 'Calls. After a lost worker it calls again, under the same key.',
          invoke: {
            id: 'start',
            src: 'start',
            input: messages.startInput,
            onDone: [
              {
                guard: { type: 'isRunning', params: ({ event }) => ({ step: event.output }) },
                target: 'waiting',
                actions: { type: 'noteTask', params: ({ event }) => ({ step: event.output }) },
              },
              {
                target: '#remote-call.ended',
                actions: { type: 'noteResult', params: ({ event }) => ({ step: event.output }) },
              },
            ],
            onError: [
              { guard: 'mayStartAgain', target: 'startDelayed', actions: 'noteFailure' },
              { target: '#remote-call.ended', actions: 'noteError' },
            ],
          },
        },
        startingOnce: {
          description: 'Calls. After a lost worker the outcome is unknown, and it ends.',
          entry: 'noteMade',
          invoke: {
            id: 'startOnce',
            src: 'startOnce',
            input: messages.startInput,
            onDone: [
              {
                guard: { type: 'isRunning', params: ({ event }) => ({ step: event.output }) },
                target: 'waiting',
                actions: { type: 'noteTask', params: ({ event }) => ({ step: event.output }) },
              },
              {
                target: '#remote-call.ended',
                actions: { type: 'noteResult', params: ({ event }) => ({ step: event.output }) },
              },
            ],
            onError: [
              { guard: 'mayStartAgain', target: 'startDelayed', actions: 'noteFailure' },
              { target: '#remote-call.ended', actions: 'noteError' },
            ],
          },
        },
        startDelayed: {
          description: 'The call was not made.',
          after: { pause: { target: 'choosing' } },
        },
        waiting: {
          description: 'The program works on the task, whose handle is stored.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'running' }) },
          after: { pause: { target: 'following' } },
        },
        following: {
          description: 'Asks about the task.',
          invoke: {
            id: 'follow',
            src: 'follow',
            input: messages.taskInput,
            onDone: [
              {
                guard: { type: 'isRunning', params: ({ event }) => ({ step: event.output }) },
                target: 'waiting',
                actions: { type: 'noteTask', params: ({ event }) => ({ step: event.output }) },
              },
              {
                target: '#remote-call.ended',
                actions: { type: 'noteResult', params: ({ event }) => ({ step: event.output }) },
              },
            ],
            onError: [
              { guard: 'isGone', target: '#remote-call.ended', actions: 'noteError' },
              { target: 'waiting', actions: 'noteFailure' },
            ],
          },
        },
      },
    },
    cancelling: {
      description: 'No tool waits for the task; asks the program to end it.',
      initial: 'requesting',
      entry: [
        { type: 'project', params: (args) => messages.row(args, { state: 'cancelling' }) },
        'answerAll',
      ],
      on: {
        'remote-call.start': { actions: { type: 'reply', params: messages.answer } },
        'remote-call.cancel': { actions: { type: 'reply', params: messages.cancelNoted } },
      },
      states: {
        requesting: {
          description: 'Requests the end of the task.',
          invoke: {
            id: 'cancel',
            src: 'cancel',
            input: messages.taskInput,
            onDone: { target: '#remote-call.ended' },
            onError: [
              { guard: 'mayCancelAgain', target: 'delayed', actions: 'noteFailure' },
              { target: '#remote-call.ended' },
            ],
          },
        },
        delayed: {
          description: 'The program did not accept the request.',
          after: { pause: { target: 'requesting' } },
        },
      },
    },
    ended: {
      description: 'The call has ended; its answer is kept for repeats.',
      entry: [{ type: 'project', params: messages.endedRow }, 'answerAll'],
      on: {
        'remote-call.start': { actions: { type: 'reply', params: messages.answer } },
        'remote-call.cancel': { actions: { type: 'reply', params: messages.cancelNoted } },
      },
      initial: 'kept',
      states: {
        kept: {
          description: 'The row is listed.',
          after: { retention: { target: 'expiring' } },
        },
        expiring: {
          description: 'The system may have been down: a repeat may still come.',
          after: { lastChance: { target: '#remote-call.forgotten' } },
        },
      },
    },
    forgotten: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: messages.noRow },
      type: 'final',
    },
    unknown: { description: 'The call was never started here.', type: 'final' },
  },
});
