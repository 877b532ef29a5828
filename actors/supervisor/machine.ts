/**
 * Supervisor: supervises an ordered list of children with the strategy one-for-one, one-for-all or
 * rest-for-one, a restart intensity, a backoff and escalation. Address:
 * `{tenant}/supervisor/{name}`.
 *
 * The region `children` handles failures. The region `outbox` sends orders in batches when one turn
 * may not send them all.
 *
 * A child belongs to the supervisor whose message created it. An existing actor keeps its
 * supervisor and refuses orders of another one.
 *
 * Invariants: each reported failure gets exactly one order; a failure that exceeds the intensity is
 * reported to the parent supervisor exactly once.
 */
import { assign, not, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as children from './children.ts';
import * as outbox from './outbox.ts';
import * as strategy from './strategy.ts';
import type { SupervisorContext, SupervisorEvent } from './types.ts';

export const supervisorMachine = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    take: assign(children.take),
    adopt: assign(children.adopt),
    add: assign(children.add),
    remove: assign(children.remove),
    noteFailure: assign(children.noteFailure),
    plan: assign(children.plan),
    orderDue: assign(children.orderDue),
    quarantineFailed: assign(children.quarantineFailed),
    endFailed: assign(children.endFailed),
    noteWhy: assign(children.noteWhy),
    endAll: assign(children.endAll),
    beginAgain: assign(children.beginAgain),
    newBatch: assign((args) => outbox.newBatch(args)),
    dropFirst: assign((args) => outbox.dropFirst(args)),
  },
  guards: {
    isInvalid: (args) => children.fault(args) !== undefined,
    isOurs: children.isOurs,
    isToBeQuarantined: children.isToBeQuarantined,
    isOneTooMany: children.isOneTooMany,
    hasWaiting: strategy.hasWaiting,
    hasTells: outbox.hasTells,
    batchHasRoom: outbox.batchHasRoom,
  },
  delays: { restartBackoff: strategy.restartBackoffMs, nextTurn: 0 },
}).createMachine({
  id: 'supervisor',
  description: 'Supervises an ordered list of children.',
  context: ({ input }) => children.initialContext(input),
  options: { maxIterations: 1_000 },
  type: 'parallel',
  states: {
    children: {
      description: 'The children, and the handling of those that fail.',
      initial: 'unconfigured',
      states: {
        unconfigured: {
          description: 'No children are configured yet.',
          on: {
            'supervisor.start': [
              { guard: 'isInvalid', actions: { type: 'reply', params: children.refused } },
              {
                target: 'supervising',
                actions: [
                  'take',
                  {
                    type: 'reply',
                    params: (args) => children.answered(args, 'supervising'),
                  },
                ],
              },
            ],
          },
        },
        supervising: {
          description: 'Failed children resume or restart after a backoff.',
          entry: { type: 'project', params: (args) => children.projected(args, 'supervising') },
          initial: 'watching',
          on: {
            'supervisor.start': [
              { guard: 'isInvalid', actions: { type: 'reply', params: children.refused } },
              {
                target: '.watching',
                actions: [
                  'take',
                  {
                    type: 'reply',
                    params: (args) => children.answered(args, 'supervising'),
                  },
                  {
                    type: 'project',
                    params: (args) => children.projected(args, 'supervising'),
                  },
                ],
              },
            ],
            'supervisor.add': [
              { guard: 'isInvalid', actions: { type: 'reply', params: children.refused } },
              {
                actions: [
                  'add',
                  {
                    type: 'reply',
                    params: (args) => children.answered(args, 'supervising'),
                  },
                  {
                    type: 'project',
                    params: (args) => children.projected(args, 'supervising'),
                  },
                ],
              },
            ],
            'supervisor.remove': {
              target: '.watching',
              actions: [
                'remove',
                {
                  type: 'reply',
                  params: (args) => children.answered(args, 'supervising'),
                },
                {
                  type: 'project',
                  params: (args) => children.projected(args, 'supervising'),
                },
              ],
            },
            'supervisor.restart': { target: '.watching', actions: 'beginAgain' },
            'supervisor.stop': { target: 'halted', actions: 'endAll' },
            'supervision.down': [
              { guard: not('isOurs'), actions: 'endFailed' },
              { guard: 'isToBeQuarantined', actions: 'quarantineFailed' },
              {
                guard: 'isOneTooMany',
                target: 'halted',
                actions: [
                  'noteFailure',
                  'noteWhy',
                  'endAll',
                  { type: 'tell', params: children.escalate },
                ],
              },
              {
                target: '.watching',
                actions: [
                  'noteFailure',
                  'plan',
                  {
                    type: 'project',
                    params: (args) => children.projected(args, 'supervising'),
                  },
                ],
              },
            ],
          },
          states: {
            watching: {
              description: 'No restart order is pending.',
              always: { guard: 'hasWaiting', target: 'backingOff' },
            },
            backingOff: {
              description:
                'Failed children, and those restarted with them, wait until their orders are due.',
              after: { restartBackoff: { target: 'watching', actions: 'orderDue' } },
            },
          },
        },
        halted: {
          description: 'The children are stopped or quarantined until a restart is requested.',
          entry: { type: 'project', params: (args) => children.projected(args, 'halted') },
          on: {
            'supervisor.restart': { target: 'supervising', actions: 'beginAgain' },
            'supervisor.start': [
              { guard: 'isInvalid', actions: { type: 'reply', params: children.refused } },
              {
                target: 'supervising',
                actions: [
                  'adopt',
                  'beginAgain',
                  {
                    type: 'reply',
                    params: (args) => children.answered(args, 'supervising'),
                  },
                ],
              },
            ],
            'supervision.down': { actions: 'endFailed' },
          },
        },
      },
    },
    outbox: {
      description: 'Sends orders in batches, each in its own turn.',
      initial: 'empty',
      states: {
        empty: {
          description: 'No message is pending.',
          always: { guard: 'hasTells', target: 'sending' },
        },
        sending: {
          description: 'Sends as much as one turn may send; the rest follows in the next turn.',
          entry: 'newBatch',
          always: [
            {
              guard: 'batchHasRoom',
              actions: [{ type: 'tell', params: outbox.firstTell }, 'dropFirst'],
            },
            { guard: 'hasTells', target: 'full' },
            { target: 'empty' },
          ],
        },
        full: {
          description: 'This turn has sent its batch.',
          after: { nextTurn: { target: 'sending' } },
        },
      },
    },
  },
});
