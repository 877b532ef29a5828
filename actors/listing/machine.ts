/**
 * Listing: one actor per registered agent (`{tenant}/listing/{agent id}`). It stores the actions
 * that the agent offers, tracks heartbeats, and announces actions that will be removed.
 *
 * While listed, the region `life` tracks heartbeats: `degraded` after two missed heartbeats, `gone`
 * after a day, removed after a month. The region `notices` announces each MAJOR version that will
 * be removed, at once and then daily.
 *
 * Invariants: the row (index `registry`) follows the chart; an internal agent and an external agent
 * never share an id; only the owner of a registration, or an operator, changes it; only an operator
 * registers an action that another owner registered (rights.ts); an external agent offers a MAJOR
 * version until its announced end; a heartbeat within FRESH_MS of the last one writes nothing.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as life from './life.ts';
import * as sunsets from './sunsets.ts';
import type { CheckInput, ListingContext, ListingEvent, Verdict } from './types.ts';

export const listingMachine = setup({
  types: {
    context: {} as ListingContext,
    events: {} as ListingEvent,
    input: {} as ActorInput,
  },
  actors: {
    checkSpecs: effect<Verdict, CheckInput>(),
  },
  actions: {
    ...hostActions,
    keepAsked: assign(life.keepAsked),
    forgetAsked: assign({ asked: null }),
    take: assign(life.take),
    markSeen: assign(life.markSeen),
    markAskedSeen: assign(life.markAskedSeen),
    markLive: assign({ status: 'live' }),
    markDegraded: assign({ status: 'degraded' }),
    markGone: assign({ status: 'gone' }),
    deprecate: assign(sunsets.deprecate),
    gatherNotices: assign(sunsets.gatherNotices),
    dropNotice: assign(sunsets.dropNotice),
  },
  guards: {
    isRefused: (_, { verdict }: { verdict: Verdict }) => verdict.refused !== undefined,
    isListed: ({ context }) => context.registration !== null,
    isNoRoom: life.isNoRoom,
    isForbidden: life.isForbidden,
    isTakeover: life.isTakeover,
    isSameAndFresh: life.isSameAndFresh,
    isSame: life.isSame,
    isFresh: life.isFresh,
    isDropping: sunsets.isDropping,
    isNoOffer: sunsets.isNoOffer,
    isTooSoon: sunsets.isTooSoon,
    hasNotice: ({ context }) => context.notices.length > 0,
    somethingGoes: sunsets.somethingGoes,
  },
  delays: {
    enrolPatience: 30_000,
    degradedAfter: life.DEGRADED,
    goneAfter: life.GONE,
    forgottenAfter: life.FORGOTTEN,
    nextNotice: sunsets.NOTICE_MS,
  },
}).createMachine({
  id: 'listing',
  description: 'The actions that one agent offers, and whether the agent is alive.',
  context: ({ input }) => life.initialContext(input),
  options: { maxIterations: 1_000 },
  initial: 'unlisted',
  states: {
    unlisted: {
      description: 'The agent is unknown.',
      on: {
        'registry.register_agent': { target: 'enrolling', actions: 'keepAsked' },
        'registry.send_heartbeat': {
          target: 'ended',
          actions: { type: 'reply', params: life.unknown },
        },
        'registry.deprecate_action': {
          target: 'ended',
          actions: { type: 'reply', params: life.unknown },
        },
        'registry.remove_agent': {
          target: 'ended',
          actions: { type: 'reply', params: life.unknown },
        },
      },
    },
    enrolling: {
      description: 'Waits until the registry has added the agent; other requests are deferred.',
      meta: {
        defer: [
          'registry.register_agent',
          'registry.send_heartbeat',
          'registry.deprecate_action',
          'registry.remove_agent',
        ],
      },
      entry: { type: 'tell', params: life.enrol },
      on: {
        reply: [
          {
            guard: 'isNoRoom',
            target: 'refusing',
            actions: { type: 'reply', params: life.noRoom },
          },
          { target: 'checking' },
        ],
      },
      after: {
        enrolPatience: {
          target: 'refusing',
          actions: { type: 'reply', params: life.noAnswer },
        },
      },
    },
    checking: {
      description: 'Checks the schemas and names of a registration; other requests wait.',
      meta: {
        defer: [
          'registry.register_agent',
          'registry.send_heartbeat',
          'registry.deprecate_action',
          'registry.remove_agent',
        ],
      },
      invoke: {
        id: 'checkSpecs',
        src: 'checkSpecs',
        input: life.checkInput,
        onDone: [
          {
            guard: {
              type: 'isRefused',
              params: ({ event }) => ({ verdict: event.output }),
            },
            target: 'refusing',
            actions: {
              type: 'reply',
              params: ({ context, event }) => life.refused(context, event.output.refused),
            },
          },
          {
            target: 'listed',
            actions: ['take', { type: 'reply', params: life.taken }, 'forgetAsked'],
          },
        ],
        onError: {
          target: 'refusing',
          actions: {
            type: 'reply',
            params: ({ context, event }) => life.refused(context, event.error),
          },
        },
      },
    },
    refusing: {
      description:
        'The registration was refused. An earlier registration stays; otherwise nothing is stored.',
      always: [
        { guard: 'isListed', target: 'listed', actions: ['markAskedSeen', 'forgetAsked'] },
        { target: 'ended', actions: 'forgetAsked' },
      ],
    },
    listed: {
      description: 'The agent is registered.',
      type: 'parallel',
      states: {
        life: {
          description: 'Whether the agent sends heartbeats.',
          initial: 'live',
          on: {
            'registry.register_agent': [
              { guard: 'isTakeover', actions: { type: 'reply', params: life.takenAlready } },
              { guard: 'isForbidden', actions: { type: 'reply', params: life.forbidden } },
              { guard: 'isDropping', actions: { type: 'reply', params: sunsets.stillDue } },
              { guard: 'isSameAndFresh', actions: { type: 'reply', params: life.answer } },
              {
                guard: 'isSame',
                target: '.live',
                actions: ['markSeen', { type: 'reply', params: life.answer }],
              },
              { target: '#listing.checking', actions: 'keepAsked' },
            ],
            'registry.send_heartbeat': [
              { guard: 'isForbidden', actions: { type: 'reply', params: life.forbidden } },
              { guard: 'isFresh', actions: { type: 'reply', params: life.answer } },
              {
                target: '.live',
                actions: ['markSeen', { type: 'reply', params: life.answer }],
              },
            ],
            'registry.remove_agent': [
              { guard: 'isForbidden', actions: { type: 'reply', params: life.forbidden } },
              { target: '#listing.ended', actions: { type: 'reply', params: life.answer } },
            ],
          },
          states: {
            live: {
              description: 'A heartbeat arrived within the last two intervals.',
              entry: ['markLive', { type: 'project', params: life.row }],
              after: { degradedAfter: { target: 'degraded' } },
            },
            degraded: {
              description:
                'Two heartbeats were missed; the agent is used only if no other one offers the action.',
              entry: ['markDegraded', { type: 'project', params: life.row }],
              after: { goneAfter: { target: 'gone' } },
            },
            gone: {
              description: 'No heartbeat for a day; the agent is not used.',
              entry: ['markGone', { type: 'project', params: life.row }],
              after: { forgottenAfter: { target: '#listing.ended' } },
            },
          },
        },
        notices: {
          description: 'Announcements of actions that will be removed.',
          initial: 'announcing',
          on: {
            'registry.deprecate_action': [
              { guard: 'isForbidden', actions: { type: 'reply', params: life.forbidden } },
              { guard: 'isNoOffer', actions: { type: 'reply', params: sunsets.noOffer } },
              { guard: 'isTooSoon', actions: { type: 'reply', params: sunsets.tooSoon } },
              {
                target: '.announcing',
                actions: [
                  'deprecate',
                  { type: 'project', params: life.row },
                  { type: 'reply', params: life.answer },
                ],
              },
            ],
          },
          states: {
            announcing: {
              description: 'Announces each pending removal.',
              entry: 'gatherNotices',
              always: [
                {
                  guard: 'hasNotice',
                  actions: [{ type: 'publish', params: sunsets.notice }, 'dropNotice'],
                },
                { guard: 'somethingGoes', target: 'resting' },
                { target: 'quiet' },
              ],
            },
            resting: {
              description: 'Every removal is announced; the announcements repeat the next day.',
              after: { nextNotice: { target: 'announcing' } },
            },
            quiet: {
              description: 'No removal is pending.',
            },
          },
        },
      },
    },
    ended: {
      description: 'The agent is no longer registered.',
      entry: [
        { type: 'project', params: life.noRow },
        { type: 'tell', params: life.ended },
      ],
      type: 'final',
    },
  },
});
