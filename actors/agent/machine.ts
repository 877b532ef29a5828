/**
 * Agent: who may run, and how often at once (design: one place where identity, policy and budgets
 * decide). Sessions ask it before each run and tell it after; it keeps slots and the day's tokens.
 *
 *  - `unknown`: nothing is configured under this id; every run is refused.
 *  - `active`: runs are admitted up to `runsMax` at once; more wait in order.
 *  - `paused`: runs wait until it is resumed.
 *  - `retired`: no more runs; those that wait are refused.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as slots from './slots.ts';
import type { AgentContext, AgentEvent } from './types.ts';

export const agentMachine = setup({
  types: { context: {} as AgentContext, events: {} as AgentEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    configure: assign(slots.configure),
    admit: assign(slots.admit),
    wait: assign(slots.wait),
    release: assign(slots.release),
    promote: assign(slots.promote),
    refuseFirst: assign(({ context }) => ({ waiting: context.waiting.slice(1) })),
  },
  guards: {
    hasSlot: ({ context, event }) => slots.hasSlot(context, event.meta.now),
    queueIsFull: ({ context }) => context.waiting.length >= slots.WAITING_MAX,
    budgetSpent: ({ context, event }) => slots.budgetSpent(context, event.meta.now),
    nextMayRun: ({ context, event }) =>
      context.waiting.length > 0 && slots.hasSlot(context, event.meta.now),
    somebodyWaits: ({ context }) => context.waiting.length > 0,
  },
}).createMachine({
  id: 'agent',
  context: ({ input }) => slots.born(input),
  initial: 'unknown',
  options: { maxIterations: 5_000 },
  states: {
    unknown: {
      description: 'Nothing is configured under this id; every run is refused.',
      on: {
        'agent.configure': {
          target: 'active',
          actions: ['configure', { type: 'reply', params: slots.configured }],
        },
        'agent.admit': {
          actions: {
            type: 'tell',
            params: (args) =>
              slots.refused(
                args,
                'NOT_FOUND',
                `no agent '${slots.keyOf(args.context)}' is configured (agents.agents)`,
              ),
          },
        },
      },
    },
    active: {
      description: 'Runs are admitted up to runsMax at once; more wait in order.',
      entry: { type: 'project', params: (args) => slots.row(args, 'active') },
      always: {
        guard: 'nextMayRun',
        actions: ['promote', { type: 'tell', params: slots.admittedNext }],
      },
      on: {
        'agent.configure': {
          actions: [
            'configure',
            { type: 'reply', params: slots.configured },
            { type: 'project', params: (args) => slots.row(args, 'active') },
          ],
        },
        'agent.admit': [
          {
            guard: 'budgetSpent',
            actions: {
              type: 'tell',
              params: (args) =>
                slots.refused(
                  args,
                  'RATE_LIMIT_EXCEEDED',
                  "the agent's tokens of today are spent (agents.agents[].tokensPerDay)",
                ),
            },
          },
          { guard: 'hasSlot', actions: ['admit', { type: 'tell', params: slots.admittedNow }] },
          {
            guard: 'queueIsFull',
            actions: {
              type: 'tell',
              params: (args) =>
                slots.refused(
                  args,
                  'RATE_LIMIT_EXCEEDED',
                  `${slots.WAITING_MAX} runs wait for this agent, which is its limit`,
                ),
            },
          },
          { actions: 'wait' },
        ],
        'agent.release': {
          actions: ['release', { type: 'project', params: (args) => slots.row(args, 'active') }],
        },
        'agent.pause': { target: 'paused' },
        'agent.retire': { target: 'retired' },
      },
    },
    paused: {
      description: 'Runs wait until it is resumed; what runs goes on.',
      entry: { type: 'project', params: (args) => slots.row(args, 'paused') },
      on: {
        'agent.configure': {
          actions: ['configure', { type: 'reply', params: slots.configured }],
        },
        'agent.admit': [
          {
            guard: 'queueIsFull',
            actions: {
              type: 'tell',
              params: (args) =>
                slots.refused(args, 'UNAVAILABLE', 'the agent is paused and its queue is full'),
            },
          },
          { actions: 'wait' },
        ],
        'agent.release': { actions: 'release' },
        'agent.resume': { target: 'active' },
        'agent.retire': { target: 'retired' },
      },
    },
    retired: {
      description: 'No more runs: those that wait and those that come are refused.',
      entry: { type: 'project', params: (args) => slots.row(args, 'retired') },
      always: {
        guard: 'somebodyWaits',
        actions: [{ type: 'tell', params: slots.refusedFirst }, 'refuseFirst'],
      },
      on: {
        'agent.admit': {
          actions: {
            type: 'tell',
            params: (args) => slots.refused(args, 'FORBIDDEN', 'the agent is retired'),
          },
        },
        'agent.release': { actions: 'release' },
        'agent.configure': {
          target: 'active',
          actions: ['configure', { type: 'reply', params: slots.configured }],
        },
      },
    },
  },
});
