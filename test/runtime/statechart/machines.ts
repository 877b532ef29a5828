/**
 * Charts for the statechart tests: an order (invokes and timers), a player (regions and history), a
 * maze (order of microsteps).
 */
import { and, assign, cancel, enqueueActions, raise, setup, stateIn } from 'xstate';
import { type Address, address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  effect,
  hostActions,
  type Meta,
  type ReplyRef,
} from '../../../protocols/statechart.ts';

type Meant = { meta?: Meta };

/** waiting → charging ⇄ backingOff → packing → shipped, cancelled or failed. */
export const order = setup({
  types: {
    context: {} as {
      attempts: number;
      total: number;
      receipt: string | null;
      reply: ReplyRef | null;
    },
    events: {} as (
      | { type: 'order.pay'; total: number }
      | { type: 'order.cancel' }
      | { type: 'order.poke' }
    ) &
      Meant,
    input: {} as ActorInput,
    output: {} as { receipt: string | null },
  },
  actors: {
    charge: effect<{ receipt: string }, { total: number; attempt: number }>(),
    pack: effect<null, { receipt: string | null }>(),
  },
  actions: {
    ...hostActions,
    keep: assign({ total: (_, params: { total: number }) => params.total }),
    countAttempt: assign({ attempts: ({ context }) => context.attempts + 1 }),
    keepReceipt: assign({ receipt: (_, params: { receipt: string }) => params.receipt }),
  },
  guards: {
    isPositive: (_, params: { total: number }) => params.total > 0,
    attemptsRemain: ({ context }) => context.attempts < 3,
  },
  delays: { patience: 30_000, backoff: ({ context }) => 200.5 * 2 ** context.attempts },
}).createMachine({
  id: 'order',
  description: 'One order of a shop',
  context: { attempts: 0, total: 0, receipt: null, reply: null },
  initial: 'waiting',
  output: ({ context }) => ({ receipt: context.receipt }),
  states: {
    waiting: {
      description: 'Nothing is paid',
      on: {
        'order.pay': {
          guard: { type: 'isPositive', params: ({ event }) => ({ total: event.total }) },
          target: 'charging',
          actions: [
            { type: 'keep', params: ({ event }) => ({ total: event.total }) },
            {
              type: 'reply',
              params: ({ event }) => ({ to: event.meta?.reply, result: { total: event.total } }),
            },
          ],
        },
        'order.poke': {},
      },
    },
    charging: {
      tags: 'busy',
      meta: { defer: ['order.pay', 'note.*'] },
      entry: 'countAttempt',
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => ({ total: context.total, attempt: context.attempts }),
        onDone: {
          target: 'packing',
          actions: {
            type: 'keepReceipt',
            params: ({ event }) => ({ receipt: event.output.receipt }),
          },
        },
        onError: [{ guard: 'attemptsRemain', target: 'backingOff' }, { target: 'failed' }],
      },
      after: {
        patience: [{ guard: 'attemptsRemain', target: 'backingOff' }, { target: 'failed' }],
      },
      on: { 'order.cancel': 'cancelled' },
    },
    backingOff: { after: { backoff: 'charging' }, on: { 'order.cancel': 'cancelled' } },
    packing: {
      invoke: {
        id: 'pack',
        src: 'pack',
        input: ({ context }) => ({ receipt: context.receipt }),
        onDone: 'shipped',
      },
    },
    shipped: {
      type: 'final',
      entry: {
        type: 'project',
        params: ({ context }) => ({ index: 'orders', key: 'k', value: context.receipt }),
      },
    },
    cancelled: { type: 'final' },
    failed: { type: 'final' },
  },
});

/** Two parallel regions; `sound` has a history of its volume, `film` of its position. */
export const player = setup({
  types: {
    context: {} as { plays: number },
    events: {} as { type: 'power' | 'play' | 'stop' | 'louder' | 'mute' | 'back' | 'tick' } & Meant,
    input: {} as ActorInput,
  },
  actors: { fetch: effect<number, { plays: number }>() },
  actions: { ...hostActions, countPlay: assign({ plays: ({ context }) => context.plays + 1 }) },
  guards: {
    isLoud: stateIn({ on: { sound: { audible: 'loud' } } }),
    isWorn: ({ context }) => context.plays > 4,
  },
  delays: { sleep: 60_000, length: 5000 },
}).createMachine({
  id: 'player.v1',
  context: { plays: 0 },
  initial: 'off',
  states: {
    off: { on: { power: 'on', back: 'on.film.hist' } },
    on: {
      type: 'parallel',
      after: { sleep: { guard: 'isLoud', target: 'off' } },
      on: { power: 'off' },
      states: {
        sound: {
          initial: 'audible',
          states: {
            audible: {
              initial: 'soft',
              states: {
                soft: { on: { louder: 'loud' } },
                loud: { tags: ['noisy'] },
                last: { type: 'history', history: 'deep', target: 'soft' },
              },
              on: { mute: 'muted' },
            },
            muted: { on: { mute: 'audible.last' } },
          },
        },
        film: {
          initial: 'still',
          states: {
            still: { on: { play: { target: 'moving', actions: 'countPlay' } } },
            moving: {
              initial: 'loading',
              invoke: {
                id: 'fetch',
                src: 'fetch',
                input: ({ context }) => ({ plays: context.plays }),
                onDone: '.showing',
              },
              on: {
                stop: 'still',
                play: { target: 'moving', reenter: true },
                tick: {
                  actions: {
                    type: 'publish',
                    params: { topic: 'player', event: { type: 'ticked' } },
                  },
                },
              },
              states: {
                loading: {},
                showing: { after: { length: 'ended' } },
                ended: { type: 'final' },
              },
              onDone: 'still',
            },
            hist: { type: 'history', history: 'shallow' },
          },
        },
      },
    },
  },
});

/** Raised events, eventless transitions, delayed raises and dynamic actions in one chart. */
export const maze = setup({
  types: {
    context: {} as { steps: number; seen: string[] },
    events: {} as (
      | { type: 'walk'; far: number }
      | { type: 'echo' }
      | { type: 'alarm' }
      | { type: 'fail' }
      | { type: 'loop' }
    ) &
      Meant,
    input: {} as ActorInput,
  },
  actors: { scout: effect<string, null>() },
  actions: {
    ...hostActions,
    step: assign({ steps: ({ context }) => context.steps + 1 }),
    see: assign({
      seen: ({ context }, params: { what: string }) => [...context.seen, params.what].slice(-5),
    }),
    blow: assign(() => {
      throw new Error('the wall is hard');
    }),
  },
  guards: {
    isFar: ({ event }) => event.type === 'walk' && event.far > 3,
    isTired: ({ context }) => context.steps % 5 === 4,
    isFresh: ({ context }) => context.steps < 1000,
  },
  delays: { nap: ({ context }) => context.steps - 2, never: Number.POSITIVE_INFINITY },
}).createMachine({
  id: 'maze',
  context: { steps: 0, seen: [] },
  options: { maxIterations: 50 },
  initial: 'hall',
  entry: raise({ type: 'echo' }),
  on: {
    echo: { actions: [{ type: 'see', params: { what: 'echo' } }, 'step'] },
    alarm: { actions: [{ type: 'see', params: { what: 'alarm' } }, cancel('alarm')] },
    fail: { actions: ['step', 'blow'] },
    loop: '.spinning',
  },
  states: {
    hall: {
      exit: raise({ type: 'echo' }),
      on: {
        walk: [
          {
            guard: and(['isFar', 'isFresh']),
            target: 'cave',
            actions: raise({ type: 'alarm' }, { id: 'alarm', delay: 'nap' }),
          },
          {
            actions: [
              'step',
              enqueueActions(({ context, enqueue, check }) => {
                if (check('isTired'))
                  enqueue({
                    type: 'publish',
                    params: { topic: 'tired', event: { type: 'rest', steps: context.steps } },
                  });
                enqueue.raise({ type: 'echo' });
              }),
            ],
          },
        ],
      },
      always: { guard: 'isTired', target: 'rest' },
    },
    rest: {
      // Sometimes entered and left in one step: then neither its job nor its timer may start.
      invoke: { id: 'scout', src: 'scout', input: null, onDone: 'hall' },
      after: { nap: 'hall', never: 'cave' },
      entry: 'step',
      always: { guard: 'isFresh', target: 'porch' },
    },
    porch: { after: { nap: { guard: 'isTired', target: 'hall' } }, on: { walk: 'cave' } },
    cave: {
      invoke: {
        id: 'dig',
        src: 'scout',
        input: null,
        onDone: { target: 'hall', actions: 'step' },
        onError: 'hall',
      },
      on: { walk: { target: 'cave', reenter: true } },
    },
    spinning: { always: 'turning' },
    turning: { always: 'spinning' },
  },
});

export const self: Address = address('t', 'order', 'k');
export const input: ActorInput = { self, tenant: 't', key: 'k', now: 1000 };
export const meta: Meta = { id: 'm1', now: 1000, self, reply: { id: 'm1' } };
