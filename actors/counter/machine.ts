/**
 * Counter: how often the work of `conformance.count_call` was really done under one idempotency
 * key. It counts what reaches it, whoever sent it: work that is done twice shows, be it by two
 * tasks of one key or by one task that asked twice.
 *
 *  - `counting`: it counts and answers.
 *  - `forgotten`: as long after its first call as tasks are remembered, so that no repeat is later.
 *
 * Invariant: every call is counted and answered once.
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
