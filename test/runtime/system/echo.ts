/** The echo: passes a ball along a ring endlessly, and asks again at each answer. */
import { assign, setup } from 'xstate';
import type { Address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { type ActorDefinition, defineActor } from '../../../runtime/index.ts';

export type Echo = {
  readonly balls: number;
  readonly received: readonly Message[];
  readonly to: Address | null;
};

const machine = setup({
  types: {
    context: {} as Echo,
    events: {} as Delivered<
      | { type: 'ball'; route: readonly Address[] }
      | { type: 'talk'; to: Address }
      | { type: 'question' }
      | (Message & { type: 'reply' | 'refused' })
    >,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    count: assign({ balls: ({ context }) => context.balls + 1 }),
    keepPartner: assign({ to: (_, params: { to: Address }) => params.to }),
    receive: assign({
      received: ({ context, event: { meta: _, ...event } }) => [
        ...context.received,
        event as Message,
      ],
    }),
  },
}).createMachine({
  id: 'echo',
  context: { balls: 0, received: [], to: null },
  on: {
    ball: {
      actions: [
        'count',
        { type: 'reply', params: ({ event }) => ({ to: event.meta.reply }) },
        {
          type: 'tell',
          params: ({ event: { route } }) => ({
            to: route[0]!,
            event: { type: 'ball', route: [...route.slice(1), route[0]!] },
          }),
        },
      ],
    },
    talk: {
      actions: [
        { type: 'keepPartner', params: ({ event }) => ({ to: event.to }) },
        { type: 'reply', params: ({ event }) => ({ to: event.meta.reply }) },
        {
          type: 'tell',
          params: ({ event }) => ({ to: event.to, event: { type: 'question' }, ask: true }),
        },
      ],
    },
    question: {
      actions: { type: 'reply', params: ({ event }) => ({ to: event.meta.reply, result: 1 }) },
    },
    reply: {
      actions: [
        'receive',
        {
          type: 'tell',
          params: ({ context }) => ({ to: context.to!, event: { type: 'question' }, ask: true }),
        },
      ],
    },
    refused: { actions: 'receive' },
  },
});

export const echoType = (): ActorDefinition => defineActor({ type: 'echo', version: 1, machine });
