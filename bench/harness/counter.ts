/**
 * The actors of the benchmarks: `counter`, the smallest machine with a context, a reply and a
 * published event; and `relay`, which passes a ball on to the next one of its ring.
 */
import { assign, setup } from 'xstate';
import { type Address, address, parseAddress } from '../../protocols/address.ts';
import { type ActorInput, type Delivered, hostActions } from '../../protocols/statechart.ts';
import { defineActor } from '../../runtime/index.ts';

type CounterEvent =
  | Delivered<{ type: 'add'; by: number }>
  | Delivered<{ type: 'mark'; by: number; id: number }>
  | Delivered<{ type: 'get' }>;

/** Bus topic on which a counter publishes that a `mark` is committed. */
export const MARKED = 'bench.marked';

export const counterMachine = setup({
  types: {
    context: {} as { n: number; owner: string },
    events: {} as CounterEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    add: assign({ n: ({ context, event }) => context.n + ('by' in event ? event.by : 0) }),
  },
}).createMachine({
  id: 'counter',
  context: ({ input }) => ({ n: 0, owner: input.key }),
  initial: 'counting',
  options: { maxIterations: 100 },
  states: {
    counting: {
      description: 'It adds the numbers that it receives and replies with their sum.',
      on: {
        add: { actions: 'add' },
        mark: {
          actions: [
            'add',
            {
              type: 'publish',
              params: ({ event }) => ({ topic: MARKED, event: { type: 'marked', id: event.id } }),
            },
          ],
        },
        get: {
          actions: {
            type: 'reply',
            params: ({ context, event }) => ({ to: event.meta.reply, result: context.n }),
          },
        },
      },
    },
  },
});

/** An actor that is idle for a second is passivated at the next check. */
export const counter = defineActor({
  type: 'counter',
  version: 1,
  machine: counterMachine,
  idleMs: 1_000,
});

/** Bus topic on which a relay publishes that a ball has completed its hops. */
export const ARRIVED = 'bench.arrived';
export const RING = 64;

export const relayAddress = (at: number): Address => address('default', 'relay', `r${at % RING}`);

const next = (self: Address): Address => relayAddress(Number(parseAddress(self).key.slice(1)) + 1);

const relayMachine = setup({
  types: {
    context: {} as { passed: number },
    events: {} as Delivered<{ type: 'ball'; id: number; left: number }>,
    input: {} as ActorInput,
  },
  actions: { ...hostActions, count: assign({ passed: ({ context }) => context.passed + 1 }) },
  guards: { arrived: ({ event }) => event.left === 0 },
}).createMachine({
  id: 'relay',
  context: { passed: 0 },
  initial: 'passing',
  options: { maxIterations: 100 },
  states: {
    passing: {
      description: 'It passes each ball on until the ball has no hop left.',
      on: {
        ball: [
          {
            guard: 'arrived',
            actions: [
              'count',
              {
                type: 'publish',
                params: ({ event }) => ({ topic: ARRIVED, event: { type: 'ball', id: event.id } }),
              },
            ],
          },
          {
            actions: [
              'count',
              {
                type: 'tell',
                params: ({ event }) => ({
                  to: next(event.meta.self),
                  event: { type: 'ball', id: event.id, left: event.left - 1 },
                }),
              },
            ],
          },
        ],
      },
    },
  },
});

export const relay = defineActor({ type: 'relay', version: 1, machine: relayMachine });
