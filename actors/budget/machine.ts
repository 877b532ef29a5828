/**
 * Budget: one per tenant, key `tenant`: what its agents may use together: tokens and money of a UTC
 * day, and runs at once (AL2, AL10). Agents tell it what runs used; it tells them when a ceiling is
 * reached and when runs may begin again. It is there only where such a ceiling is configured.
 *
 *  - `unused`: no agent has told it a ceiling;
 *  - `settling`: agents hear what they do not know, and those who wait get places while there are;
 *  - `open`: runs may begin, nobody waits;
 *  - `crowded`: all places are taken, some wait;
 *  - `spent`: a ceiling of the day is reached; no run begins until the day ends;
 *  - `resting`: one turn has told as many as it may, the next goes on.
 *
 * Invariants: a run that asks is answered once, unless it is released before; never more places
 * than `runsMax` are given; a place whose agent is gone comes free by itself. What is used is known
 * when a run ends: past a ceiling goes at most what the runs use that were going when it was
 * reached.
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
    dropTold: assign(ledger.dropNotified),
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
    somebodyWaits: ({ context }) => context.waiting.length > 0,
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
          actions: [{ type: 'tell', params: ledger.verdict }, 'dropTold'],
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
        { guard: 'somebodyWaits', target: 'crowded' },
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
      description: 'This turn has sent its share of messages.',
      entry: { type: 'project', params: ledger.row },
      after: { nextTurn: { target: 'settling' } },
    },
  },
});
