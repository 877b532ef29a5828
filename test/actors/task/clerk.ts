/** An actor that performs the work of a task and can be requested to stop. */
import { assign, setup } from 'xstate';
import {
  type ActorInput,
  type Delivered,
  hostActions,
  type ReplyRef,
} from '../../../protocols/statechart.ts';
import { type ActorDefinition, defineActor } from '../../../runtime/index.ts';

type Asked = { type: 'demo.do_thing'; task_id: string; text: string };
type Event = Delivered<Asked | { type: 'task.cancel' } | { type: 'finish' }>;
type Context = { asker: ReplyRef | null; text: string; by: string };

const clerkMachine = setup({
  types: { context: {} as Context, events: {} as Event, input: {} as ActorInput },
  actions: {
    ...hostActions,
    keep: assign(({ event }) =>
      event.type === 'demo.do_thing'
        ? {
            asker: event.meta.reply ?? null,
            text: event.text,
            by: event.meta.principal?.sub ?? 'no principal',
          }
        : {},
    ),
  },
}).createMachine({
  id: 'clerk',
  context: { asker: null, text: '', by: '' },
  initial: 'idle',
  states: {
    idle: { on: { 'demo.do_thing': { target: 'busy', actions: 'keep' } } },
    busy: {
      on: {
        finish: {
          target: 'idle',
          actions: {
            type: 'reply',
            params: ({ context: { asker, text, by } }) => ({
              to: asker!,
              result: { wrote: text, by },
            }),
          },
        },
        'task.cancel': {
          target: 'idle',
          actions: {
            type: 'reply',
            params: ({ context }) => ({
              to: context.asker!,
              error: {
                code: 'CANCELLED' as const,
                message: 'tore it up',
                details: { compensated: true },
              },
            }),
          },
        },
      },
    },
  },
});

export const clerkType = (): ActorDefinition =>
  defineActor({ type: 'clerk', version: 1, machine: clerkMachine });
