/**
 * Counter: counts how often the work of `conformance.count_call` was done under one idempotency
 * key. It counts every message, from any sender, so that duplicate work is visible: by two tasks
 * with one key, or by one task that called twice. It is removed when no repeat of a task can
 * arrive.
 *
 * Invariant: each call is counted and answered once.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, type Delivered, hostActions } from '../../protocols/statechart.ts';
import { TASK_RETENTION_MS } from '../../protocols/task.ts';

export type CounterContext = { readonly calls: number };
type CountCall = Delivered<{ type: 'conformance.count_call'; task_id: string }>;

export const counterMachine = setup({
  types: {
    context: {} as CounterContext,
    events: {} as CountCall,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    count: assign(({ context }) => ({ calls: context.calls + 1 })),
  },
  delays: { retention: TASK_RETENTION_MS },
}).createMachine({
  id: 'counter',
  description: 'Counts the calls with one idempotency key.',
  options: { maxIterations: 10 },
  context: { calls: 0 },
  initial: 'counting',
  states: {
    counting: {
      description: 'Counts each call, and answers with the number of calls.',
      on: {
        'conformance.count_call': {
          actions: [
            'count',
            {
              type: 'reply',
              params: ({ context, event }) => ({
                to: event.meta.reply,
                result: { calls: context.calls },
              }),
            },
          ],
        },
      },
      after: { retention: 'forgotten' },
    },
    forgotten: { description: 'No further call can arrive; the row is removed.', type: 'final' },
  },
});
