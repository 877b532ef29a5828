/**
 * Push: one configuration of push notifications of one task. It watches the task, which sends it
 * each change in order, and posts the changes one after the other. What fails is repeated with
 * backoff for 24 hours; then the configuration is disabled, and is a dead letter that an operator
 * may redrive. Row: index `push_configs`.
 *
 * Invariants: notifications of a task arrive in its order, each at least once while its receiver
 * accepts within 24 hours; the context has secrets only sealed; there is one request at a time.
 */
import { assign, setup } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import type { PushDelivery } from '../../protocols/push.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { TASK_RETENTION_MS } from '../../protocols/task.ts';
import * as progress from './progress.ts';
import type { PushContext, PushEvent } from './types.ts';

/** @returns the number of the notice */
export const pushMachine = setup({
  types: { context: {} as PushContext, events: {} as PushEvent, input: {} as ActorInput },
  actors: { post: effect<number, PushDelivery>() },
  actions: {
    ...hostActions,
    configure: assign(progress.configure),
    retry: assign(progress.retry),
    dropQueue: assign(progress.dropQueue),
    enqueue: assign(progress.enqueue),
    noteDelivered: assign(progress.noteDelivered),
    noteFailure: assign(progress.noteFailure),
  },
  guards: {
    hasNotices: progress.hasNotices,
    isOver: progress.isOver,
    isHopeless: progress.isHopeless,
    isForeign: progress.isForeign,
    isSame: progress.isSame,
  },
  delays: { pause: ({ context }) => context.pauseMs, retention: TASK_RETENTION_MS },
}).createMachine({
  id: 'push',
  description: 'One configuration of push notifications of a task.',
  context: ({ input }) => progress.initialContext(input),
  initial: 'unset',
  options: { maxIterations: 100 },
  states: {
    unset: {
      description: 'Nothing was configured so far; the task may have kept a place for it.',
      on: {
        'push.configure': {
          target: 'active',
          actions: ['configure', { type: 'reply', params: progress.answered }],
        },
        'push.remove': {
          target: 'removed',
          actions: { type: 'reply', params: progress.answered },
        },
        'push.retry': { target: 'removed', actions: { type: 'reply', params: progress.answered } },
        'task.changed': {},
      },
      after: { retention: { target: 'removed' } },
    },
    active: {
      description: 'The task is watched, and its changes are posted.',
      entry: { type: 'tell', params: progress.watch },
      initial: 'watching',
      on: {
        'task.changed': { actions: 'enqueue' },
        'push.configure': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          { guard: 'isSame', actions: { type: 'reply', params: progress.answered } },
          {
            target: '.watching',
            actions: ['configure', { type: 'reply', params: progress.answered }],
          },
        ],
        'push.remove': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          { target: 'removed', actions: { type: 'reply', params: progress.answered } },
        ],
        'push.retry': { actions: { type: 'reply', params: progress.answered } },
      },
      states: {
        watching: {
          description: 'Every change that is known was posted.',
          entry: { type: 'project', params: progress.activeRow },
          always: [
            { guard: 'hasNotices', target: 'posting' },
            { guard: 'isOver', target: '#push.finished' },
          ],
        },
        posting: {
          description: 'The oldest change is posted.',
          invoke: {
            id: 'post',
            src: 'post',
            input: progress.delivery,
            onDone: {
              target: 'watching',
              actions: {
                type: 'noteDelivered',
                params: ({ event }) => ({ n: event.output }),
              },
            },
            onError: [
              {
                guard: {
                  type: 'isHopeless',
                  params: ({ event }) => ({ error: event.error as ErrorData }),
                },
                target: '#push.disabled',
                actions: {
                  type: 'noteFailure',
                  params: ({ event }) => ({ error: event.error as ErrorData }),
                },
              },
              {
                target: 'pausing',
                actions: {
                  type: 'noteFailure',
                  params: ({ event }) => ({ error: event.error as ErrorData }),
                },
              },
            ],
          },
        },
        pausing: {
          description: 'The receiver did not accept the change; it is posted again after a pause.',
          entry: { type: 'project', params: progress.failingRow },
          after: { pause: { target: 'posting' } },
        },
      },
    },
    disabled: {
      description: 'The receiver accepts nothing; another configuration enables it again.',
      entry: [
        { type: 'project', params: progress.disabledRow },
        { type: 'deadLetter', params: progress.dead },
      ],
      on: {
        'push.configure': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          {
            target: 'active',
            actions: ['configure', 'dropQueue', { type: 'reply', params: progress.answered }],
          },
        ],
        'push.remove': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          { target: 'removed', actions: { type: 'reply', params: progress.answered } },
        ],
        'push.retry': {
          target: 'active',
          actions: ['retry', 'dropQueue', { type: 'reply', params: progress.answered }],
        },
      },
      after: { retention: { target: 'removed' } },
    },
    finished: {
      description: 'The end of the task was delivered.',
      entry: { type: 'project', params: progress.finishedRow },
      on: {
        'push.configure': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          { guard: 'isSame', actions: { type: 'reply', params: progress.answered } },
          {
            target: 'active',
            actions: ['configure', { type: 'reply', params: progress.answered }],
          },
        ],
        'push.remove': [
          { guard: 'isForeign', actions: { type: 'reply', params: progress.refused } },
          { target: 'removed', actions: { type: 'reply', params: progress.answered } },
        ],
        'push.retry': { actions: { type: 'reply', params: progress.answered } },
      },
      after: { retention: { target: 'removed' } },
    },
    removed: {
      description: 'There is no such configuration any more.',
      entry: [
        { type: 'project', params: progress.noRow },
        { type: 'tell', params: progress.unwatch },
      ],
      type: 'final',
    },
  },
});
