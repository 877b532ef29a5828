/** An order: it is placed, paid once, packed and shipped, also if a process dies meanwhile. */
import { assign, setup } from 'xstate';
import { type ActorInput, defineActor, type Delivered, effect, hostActions } from 'troupe';
import type { ErrorData, ReplyRef } from 'troupe';
import type { Bank } from './bank.ts';

type Context = { cents: number; customer: ReplyRef | null; receipt: string };
type Place = Delivered<{ type: 'order.place'; cents: number }>;

const orderMachine = setup({
  types: { context: {} as Context, events: {} as Place, input: {} as ActorInput },
  actors: { charge: effect<string, { cents: number }>() },
  actions: {
    ...hostActions,
    keepOrder: assign(({ event }) => ({ cents: event.cents, customer: event.meta.reply ?? null })),
    keepReceipt: assign((_, { receipt }: { receipt: string }) => ({ receipt })),
  },
  delays: { packingTime: 500 },
}).createMachine({
  id: 'order',
  context: { cents: 0, customer: null, receipt: '' },
  initial: 'waiting',
  states: {
    waiting: { on: { 'order.place': { target: 'charging', actions: 'keepOrder' } } },
    charging: {
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => ({ cents: context.cents }),
        onDone: {
          target: 'packing',
          actions: { type: 'keepReceipt', params: ({ event }) => ({ receipt: event.output }) },
        },
        onError: {
          target: 'declined',
          actions: {
            type: 'reply',
            params: ({ context, event }) => ({
              to: context.customer!,
              error: event.error as ErrorData,
            }),
          },
        },
      },
    },
    packing: { after: { packingTime: 'shipped' } },
    shipped: {
      entry: {
        type: 'reply',
        params: ({ context }) => ({ to: context.customer!, result: { receipt: context.receipt } }),
      },
      type: 'final',
    },
    declined: { type: 'final' },
  },
});

export const order = defineActor({
  type: 'order',
  version: 1,
  machine: orderMachine,
  supervision: { onThrow: 'resume' },
  effects: {
    charge: {
      // Never repeated blindly: `reconcile` asks the bank for the outcome of a lost attempt.
      class: 'once',
      run: ({ cents }, { id, services }) => (services as Bank).charge(id, cents),
      async reconcile(_, { id, services }) {
        const receipt = (services as Bank).receiptOf(id);
        return receipt === undefined ? 'again' : { outcome: receipt };
      },
    },
  },
});
