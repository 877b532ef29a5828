/**
 * Agent: admits the runs of one agent. Sessions ask it before each run and report usage after it.
 * It holds the settings of the agent, the slots of running runs, the waiting runs and the usage of
 * the day.
 *
 * If the tenant limits the runs of all agents (`agents.maxConcurrent`), each run also needs a slot
 * of the tenant's budget actor. A run that another agent started, or that such a run waits for, is
 * admitted at once and holds no slot: the agent that waits for it may hold the last one.
 *
 * Where no limit and no budget applies, runs hold no slots, and an admission gives its session a
 * standing lease: later runs of the session start without asking. The lease names the settings. It
 * is good while the agent's committed row shows it, which each run reads when it begins; the row of
 * an agent that is paused, retired or has other settings does not.
 *
 * Invariants: each request is answered once, unless the run is released first; at most `runsMax`
 * slots are held; the slot of a lost session is released when its lease ends. Usage is known when a
 * run ends, so runs that were active when a budget was spent can exceed it.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as allowed from './allowed.ts';
import * as shared from './shared.ts';
import * as slots from './slots.ts';
import type { AgentContext, AgentEvent } from './types.ts';

export const agentMachine = setup({
  types: { context: {} as AgentContext, events: {} as AgentEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    configure: assign(slots.configure),
    wait: assign(slots.wait),
    markNested: assign(slots.markNested),
    release: assign(slots.release),
    onReturn: assign(slots.onReturn),
    newTurn: assign(slots.newTurn),
    promote: assign(slots.promote),
    refuseFirst: assign(slots.refuseFirst),
    allow: assign(allowed.allow),
    noteAsked: assign(shared.noteAsked),
    askAgain: assign(shared.askAgain),
    unaskFirst: assign(shared.unaskFirst),
    unaskAwaited: assign(shared.unaskAwaited),
    promoteAwaited: assign(shared.promoteAwaited),
    dropAwaited: assign(shared.dropAwaited),
    noteVerdict: assign(shared.noteVerdict),
    letSlotlessIn: assign(slots.letSlotlessIn),
  },
  guards: {
    isFromOutside: slots.isFromOutside,
    waitsAlready: slots.waitsAlready,
    becomesNested: slots.becomesNested,
    queueIsFull: ({ context }) => context.waiting.length >= slots.WAITING_MAX,
    budgetSpent: ({ context, event }) => slots.overBudget(context, event.meta.now) !== undefined,
    hasWaiting: ({ context }) => context.waiting.length > 0,
    turnIsFull: ({ context }) => slots.turnIsFull(context),
    nextIsOverBudget: slots.nextIsOverBudget,
    needsNoSlot: slots.needsNoSlot,
    slotlessWaits: slots.slotlessWaits,
    nextMayRun: shared.nextMayRun,
    nextMayAsk: shared.nextMayAsk,
    nextGivesBack: (args) => slots.nextIsOverBudget(args) && shared.firstAsked(args),
    firstAsked: shared.firstAsked,
    isAwaited: shared.isAwaited,
    isAwaitedWithSlot: (args) => shared.isAwaited(args) && slots.hasSlot(args),
    concernsTenant: shared.concernsTenant,
    hasCeilings: shared.hasCeilings,
    hasNoCeilings: (args) => !shared.hasCeilings(args),
    mayNotAllow: allowed.mayNotAllow,
    isNoPattern: allowed.isNoPattern,
    mayAllow: (args) => !allowed.mayNotAllow(args) && !allowed.isNoPattern(args),
  },
  delays: { lease: slots.leaseMs, nextTurn: 0 },
}).createMachine({
  id: 'agent',
  description: 'Admits the runs of one agent.',
  context: ({ input }) => slots.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 1_000 },
  on: {
    'agent.allow': [
      { guard: 'mayNotAllow', actions: { type: 'reply', params: allowed.forbidden } },
      { guard: 'isNoPattern', actions: { type: 'reply', params: allowed.noPattern } },
      { actions: { type: 'reply', params: allowed.notConfigured } },
    ],
  },
  states: {
    unknown: {
      description: 'No settings are configured for this id; every run is refused.',
      on: {
        'agent.configure': [
          {
            guard: 'concernsTenant',
            target: 'active',
            actions: [
              { type: 'tell', params: shared.configured },
              'configure',
              { type: 'reply', params: slots.configured },
            ],
          },
          {
            target: 'active',
            actions: ['configure', { type: 'reply', params: slots.configured }],
          },
        ],
        'agent.admit': [
          { guard: 'isFromOutside', actions: { type: 'reply', params: slots.notASession } },
          {
            actions: { type: 'tell', params: (args) => slots.refused(args, slots.unknown(args)) },
          },
        ],
      },
    },
    active: {
      description: 'Admits up to runsMax runs at once; further runs wait in order.',
      initial: 'admitting',
      on: {
        'agent.configure': [
          {
            guard: 'concernsTenant',
            target: '.admitting',
            actions: [
              { type: 'tell', params: shared.configured },
              'configure',
              { type: 'reply', params: slots.configured },
            ],
          },
          {
            target: '.admitting',
            actions: ['configure', { type: 'reply', params: slots.configured }],
          },
        ],
        'agent.admit': [
          { guard: 'isFromOutside', actions: { type: 'reply', params: slots.notASession } },
          { guard: 'becomesNested', target: '.admitting', actions: 'markNested' },
          { guard: 'waitsAlready' },
          {
            guard: 'budgetSpent',
            actions: { type: 'tell', params: slots.refusedNow },
          },
          {
            guard: 'needsNoSlot',
            actions: { type: 'tell', params: slots.admittedWithoutSlot },
          },
          {
            guard: 'queueIsFull',
            actions: { type: 'tell', params: (args) => slots.refused(args, slots.QUEUE_FULL) },
          },
          { target: '.admitting', actions: 'wait' },
        ],
        'agent.release': [
          {
            guard: 'hasCeilings',
            target: '.admitting',
            actions: [
              { type: 'project', params: slots.pastDay },
              'release',
              { type: 'tell', params: shared.released },
            ],
          },
          {
            target: '.admitting',
            actions: [{ type: 'project', params: slots.pastDay }, 'release'],
          },
        ],
        'agent.return': { target: '.admitting', actions: 'onReturn' },
        'agent.allow': {
          guard: 'mayAllow',
          target: '.admitting',
          actions: [{ type: 'reply', params: allowed.answered }, 'allow'],
        },
        'budget.taken': [
          {
            guard: 'isAwaitedWithSlot',
            target: '.admitting',
            actions: [{ type: 'tell', params: shared.admittedWithPlace }, 'promoteAwaited'],
          },
          {
            guard: 'isAwaited',
            target: '.admitting',
            actions: [{ type: 'tell', params: shared.awaitedGivenBack }, 'unaskAwaited'],
          },
        ],
        'budget.refused': {
          guard: 'isAwaited',
          target: '.admitting',
          actions: [{ type: 'tell', params: shared.refusedByTenant }, 'dropAwaited'],
        },
        'budget.spent': { target: '.admitting', actions: 'noteVerdict' },
        'budget.opened': { target: '.admitting', actions: 'noteVerdict' },
        'agent.pause': { target: 'paused' },
        'agent.retire': { target: 'retired' },
      },
      states: {
        admitting: {
          description: 'Admits waiting runs, the oldest first.',
          entry: 'newTurn',
          always: [
            { guard: 'turnIsFull', target: 'resting' },
            {
              guard: 'nextGivesBack',
              actions: [{ type: 'tell', params: shared.firstGivenBack }, 'unaskFirst'],
            },
            {
              guard: 'nextIsOverBudget',
              actions: [{ type: 'tell', params: slots.refusedFirstNow }, 'refuseFirst'],
            },
            {
              guard: 'slotlessWaits',
              actions: [{ type: 'tell', params: slots.admittedSlotless }, 'letSlotlessIn'],
            },
            {
              guard: 'nextMayAsk',
              actions: [{ type: 'tell', params: shared.takes }, 'noteAsked'],
            },
            {
              guard: 'nextMayRun',
              actions: [{ type: 'tell', params: slots.admittedFirst }, 'promote'],
            },
            { guard: 'hasWaiting', target: 'crowded' },
            { target: 'open' },
          ],
        },
        open: {
          description: 'No run waits, so an end only counts.',
          entry: { type: 'project', params: (args) => slots.row(args, 'active') },
          on: {
            'agent.release': {
              guard: 'hasNoCeilings',
              actions: [
                { type: 'project', params: slots.pastDay },
                'release',
                { type: 'project', params: (args) => slots.row(args, 'active') },
              ],
            },
          },
        },
        crowded: {
          description:
            'Runs wait for a slot. The slot of a session that was lost is released when its lease ends.',
          entry: { type: 'project', params: (args) => slots.row(args, 'active') },
          after: { lease: { target: 'admitting', actions: 'askAgain' } },
        },
        resting: {
          description: 'This turn has sent as many replies as one turn may send.',
          entry: { type: 'project', params: (args) => slots.row(args, 'active') },
          after: { nextTurn: { target: 'admitting' } },
        },
      },
    },
    paused: {
      description: 'Runs wait until the agent is resumed; current runs continue.',
      entry: { type: 'project', params: (args) => slots.row(args, 'paused') },
      on: {
        'agent.configure': [
          {
            guard: 'concernsTenant',
            target: 'paused',
            reenter: true,
            actions: [
              { type: 'tell', params: shared.configured },
              'configure',
              { type: 'reply', params: slots.configured },
            ],
          },
          {
            target: 'paused',
            reenter: true,
            actions: ['configure', { type: 'reply', params: slots.configured }],
          },
        ],
        'agent.admit': [
          { guard: 'isFromOutside', actions: { type: 'reply', params: slots.notASession } },
          { guard: 'becomesNested', target: 'paused', reenter: true, actions: 'markNested' },
          { guard: 'waitsAlready' },
          {
            guard: 'queueIsFull',
            actions: { type: 'tell', params: (args) => slots.refused(args, slots.QUEUE_FULL) },
          },
          { target: 'paused', reenter: true, actions: 'wait' },
        ],
        'agent.release': [
          {
            guard: 'hasCeilings',
            target: 'paused',
            reenter: true,
            actions: [
              { type: 'project', params: slots.pastDay },
              'release',
              { type: 'tell', params: shared.released },
            ],
          },
          {
            target: 'paused',
            reenter: true,
            actions: [{ type: 'project', params: slots.pastDay }, 'release'],
          },
        ],
        'agent.return': { target: 'paused', reenter: true, actions: 'onReturn' },
        'agent.allow': {
          guard: 'mayAllow',
          target: 'paused',
          reenter: true,
          actions: [{ type: 'reply', params: allowed.answered }, 'allow'],
        },
        'budget.taken': {
          guard: 'isAwaited',
          actions: [{ type: 'tell', params: shared.awaitedGivenBack }, 'unaskAwaited'],
        },
        'budget.refused': { guard: 'isAwaited', actions: 'unaskAwaited' },
        'budget.spent': { actions: 'noteVerdict' },
        'budget.opened': { actions: 'noteVerdict' },
        'agent.resume': { target: 'active' },
        'agent.retire': { target: 'retired' },
      },
    },
    retired: {
      description: 'The agent admits no more runs: waiting and new runs are refused.',
      initial: 'refusing',
      on: {
        'agent.admit': [
          { guard: 'isFromOutside', actions: { type: 'reply', params: slots.notASession } },
          { guard: 'waitsAlready' },
          { actions: { type: 'tell', params: (args) => slots.refused(args, slots.RETIRED) } },
        ],
        'agent.release': [
          {
            guard: 'hasCeilings',
            target: '.refusing',
            actions: [
              { type: 'project', params: slots.pastDay },
              'release',
              { type: 'tell', params: shared.released },
            ],
          },
          { target: '.refusing', actions: [{ type: 'project', params: slots.pastDay }, 'release'] },
        ],
        'agent.return': { target: '.refusing', actions: 'onReturn' },
        'agent.allow': {
          guard: 'mayAllow',
          target: '.refusing',
          actions: [{ type: 'reply', params: allowed.answered }, 'allow'],
        },
        'agent.configure': [
          {
            guard: 'concernsTenant',
            target: 'active',
            actions: [
              { type: 'tell', params: shared.configured },
              'configure',
              { type: 'reply', params: slots.configured },
            ],
          },
          {
            target: 'active',
            actions: ['configure', { type: 'reply', params: slots.configured }],
          },
        ],
      },
      states: {
        refusing: {
          description: 'Refuses the waiting runs.',
          entry: 'newTurn',
          always: [
            { guard: 'turnIsFull', target: 'resting' },
            {
              guard: 'firstAsked',
              actions: [{ type: 'tell', params: shared.firstGivenBack }, 'unaskFirst'],
            },
            {
              guard: 'hasWaiting',
              actions: [
                { type: 'tell', params: (args) => slots.refusedFirst(args, slots.RETIRED) },
                'refuseFirst',
              ],
            },
            { target: 'closed' },
          ],
        },
        resting: {
          description: 'This turn has sent as many refusals as one turn may send.',
          entry: { type: 'project', params: (args) => slots.row(args, 'retired') },
          after: { nextTurn: { target: 'refusing' } },
        },
        closed: {
          description: 'No run waits any more.',
          entry: { type: 'project', params: (args) => slots.row(args, 'retired') },
        },
      },
    },
  },
});
