/**
 * Agent message: one message of a program to an agent and its answer, as the work of a task of the
 * action `agents.send_message`. Its key is the id of the task.
 *
 * Invariants: the message is sent once, whatever happens to the workers; the task gets one answer,
 * also when it is cancelled; every waiting state has a durable time limit.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as exchange from './exchange.ts';
import type { AskedMessage, MessageContext, MessageEvent, Prepared } from './types.ts';

/** The run, with its time in the queue of the session. */
const RUN_MS = 24 * 3_600_000;
/** Longer than a task may be redriven or decided again. */
const RETENTION_MS = 28 * 3_600_000;

export const agentMessageMachine = setup({
  types: { context: {} as MessageContext, events: {} as MessageEvent, input: {} as ActorInput },
  actors: { prepare: effect<Prepared, AskedMessage>() },
  actions: {
    ...hostActions,
    begin: assign(exchange.begin),
    notePrepared: assign(exchange.notePrepared),
    noteEnded: assign(exchange.noteEnded),
    noteRefused: assign(exchange.noteRefused),
    noteLost: assign(exchange.noteLost),
    noteWithdrawn: assign(exchange.noteWithdrawn),
  },
  guards: {
    isReady: (_, { prepared }: { prepared: Prepared }) => 'text' in prepared,
    isOwnRun: exchange.isOwnRun,
    isRefusal: exchange.isRefusal,
  },
  delays: { runTime: RUN_MS, pause: 1_000, retention: RETENTION_MS },
}).createMachine({
  id: 'agent-message',
  description: 'One message of a program to an agent, and its answer.',
  context: ({ input }) => exchange.initialContext(input),
  initial: 'unsent',
  options: { maxIterations: 100 },
  states: {
    unsent: {
      description: 'No task has sent a message.',
      on: {
        'agents.send_message': { target: 'preparing', actions: 'begin' },
        'task.cancel': { target: 'forgotten' },
      },
    },
    preparing: {
      description: 'Looks for the agent; hooks may change or refuse the message.',
      on: { 'task.cancel': { target: 'ended', actions: 'noteWithdrawn' } },
      invoke: {
        id: 'prepare',
        src: 'prepare',
        input: exchange.prepareInput,
        onDone: [
          {
            guard: { type: 'isReady', params: ({ event }) => ({ prepared: event.output }) },
            target: 'asking',
            actions: {
              type: 'notePrepared',
              params: ({ event }) => ({ prepared: event.output }),
            },
          },
          {
            target: 'ended',
            actions: {
              type: 'notePrepared',
              params: ({ event }) => ({ prepared: event.output }),
            },
          },
        ],
        onError: { target: 'delayed' },
      },
    },
    delayed: {
      description: 'The rows of the agent could not be read.',
      on: { 'task.cancel': { target: 'ended', actions: 'noteWithdrawn' } },
      after: { pause: { target: 'preparing' } },
    },
    asking: {
      description: 'The session of the agent has the message, or gets it.',
      entry: { type: 'tell', params: exchange.send },
      initial: 'waiting',
      after: { runTime: { target: 'ended', actions: 'noteLost' } },
      on: {
        'run.ended': { guard: 'isOwnRun', target: 'ended', actions: 'noteEnded' },
        reply: { guard: 'isRefusal', target: 'ended', actions: 'noteRefused' },
      },
      states: {
        waiting: {
          description: 'The agent works on its answer.',
          on: {
            'task.cancel': {
              target: 'stopping',
              actions: { type: 'tell', params: exchange.abort },
            },
          },
        },
        stopping: { description: 'The run was asked to end; what it reports is the answer.' },
      },
    },
    ended: {
      description: 'The task has its answer.',
      entry: { type: 'reply', params: exchange.answer },
      on: { 'agents.send_message': { actions: { type: 'reply', params: exchange.answerAgain } } },
      after: { retention: { target: 'forgotten' } },
    },
    forgotten: { description: 'The task is over, too.', type: 'final' },
  },
});
