/**
 * Budget: one actor per tenant (key `tenant`) for the limits that all agents share: tokens and cost
 * per UTC day, and concurrent runs. Agents report usage; the actor notifies them when a limit is
 * reached and when runs may start again. It exists only if such a limit is configured.
 *
 * Invariants: each request for a slot is answered once, unless it is released first; at most
 * `runsMax` slots are held; the slot of a lost agent is released when its lease ends. Usage is
 * known when a run ends, so runs that were active when a limit was reached can exceed it.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as ledger from './ledger.ts';
import type { BudgetContext, BudgetEvent } from './types.ts';

export const budgetMachine = setup({
  types: { context: {} as BudgetContext, events: {} as BudgetEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    configure: assign(ledger.configure),
    wait: assign(ledger.wait),
    release: assign(ledger.release),
    newTurn: assign(ledger.newTurn),
    judge: assign(ledger.judge),
    dropNotified: assign(ledger.dropNotified),
    promote: assign(ledger.promote),
    dropFirst: assign(ledger.dropFirst),
  },
  guards: {
    isNoAgent: ledger.isNoAgent,
    holdsAlready: ledger.holdsAlready,
    waitsAlready: ledger.waitsAlready,
    queueIsFull: ({ context }) => context.waiting.length >= ledger.WAITING_MAX,
    turnIsFull: ({ context }) => ledger.turnIsFull(context),
    somebodyIsUntold: ({ context }) => context.untold.length > 0,
    nextIsRefused: ({ context }) => ledger.nextIsRefused(context),
    nextMayRun: ledger.nextMayRun,
    isSpent: ({ context }) => context.spent !== null,
    hasWaiting: ({ context }) => context.waiting.length > 0,
  },
  delays: { dayEnd: ledger.dayEndMs, lease: ledger.leaseMs, nextTurn: 0 },
}).createMachine({
  id: 'budget',
  description: 'The limits that the agents of a tenant share.',
  context: ({ input }) => ledger.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 1_000 },
  on: {
    'budget.configure': [
      { guard: 'isNoAgent', actions: { type: 'reply', params: ledger.notAnAgent } },
      { target: '.settling', actions: 'configure' },
    ],
    'budget.take': [
      { guard: 'isNoAgent', actions: { type: 'reply', params: ledger.notAnAgent } },
      { guard: 'holdsAlready', actions: { type: 'tell', params: ledger.takenAgain } },
      { guard: 'waitsAlready' },
      { guard: 'queueIsFull', actions: { type: 'tell', params: ledger.refusedAsFull } },
      { target: '.settling', actions: 'wait' },
    ],
    'budget.release': [
      { guard: 'isNoAgent', actions: { type: 'reply', params: ledger.notAnAgent } },
      { target: '.settling', actions: 'release' },
    ],
  },
  states: {
    unused: { description: 'No agent has reported a limit.' },
    settling: {
      description:
        'Sends new verdicts to the agents and gives slots to waiting runs, or refuses them.',
      entry: ['newTurn', 'judge'],
      always: [
        { guard: 'turnIsFull', target: 'resting' },
        {
          guard: 'somebodyIsUntold',
          actions: [{ type: 'tell', params: ledger.verdict }, 'dropNotified'],
        },
        {
          guard: 'nextIsRefused',
          actions: [{ type: 'tell', params: ledger.refusedFirst }, 'dropFirst'],
        },
        {
          guard: 'nextMayRun',
          actions: [{ type: 'tell', params: ledger.takenFirst }, 'promote'],
        },
        { guard: 'isSpent', target: 'spent' },
        { guard: 'hasWaiting', target: 'crowded' },
        { target: 'open' },
      ],
    },
    open: {
      description: 'Slots are free; no run waits.',
      entry: { type: 'project', params: ledger.row },
    },
    crowded: {
      description:
        'All slots are taken and runs wait. The slot of a lost agent is released when its lease ends.',
      entry: { type: 'project', params: ledger.row },
      after: { lease: { target: 'settling' } },
    },
    spent: {
      description: 'A daily limit is reached; no run starts until the day ends in UTC.',
      entry: { type: 'project', params: ledger.row },
      after: { dayEnd: { target: 'settling' } },
    },
    resting: {
      description: 'This turn has sent as many messages as one turn may send.',
      entry: { type: 'project', params: ledger.row },
      after: { nextTurn: { target: 'settling' } },
    },
  },
});
