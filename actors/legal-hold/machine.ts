/**
 * Legal hold: keeps the data of a session, a user or a tenant from being erased, by an erasure or
 * by retention. Key: `{kind}:{id}`. Erasures read its row.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as hold from './hold.ts';
import type { HoldContext, HoldEvent } from './hold.ts';

export const legalHoldMachine = setup({
  types: { context: {} as HoldContext, events: {} as HoldEvent, input: {} as ActorInput },
  actions: { ...hostActions, note: assign(hold.note) },
}).createMachine({
  id: 'legal-hold',
  description: 'Keeps data from being erased.',
  context: ({ input }) => hold.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 10 },
  states: {
    unused: {
      description: 'Nothing is held.',
      on: {
        'hold.set': {
          target: 'held',
          actions: [
            'note',
            { type: 'project', params: hold.row },
            { type: 'reply', params: hold.answer },
          ],
        },
        'hold.release': {
          target: 'released',
          actions: { type: 'reply', params: hold.isNotHeld },
        },
      },
    },
    held: {
      description: 'The data may not be erased.',
      on: {
        'hold.set': {
          actions: [
            'note',
            { type: 'project', params: hold.row },
            { type: 'reply', params: hold.answer },
          ],
        },
        'hold.release': {
          target: 'released',
          actions: [
            { type: 'project', params: hold.noRow },
            { type: 'reply', params: hold.released },
          ],
        },
      },
    },
    released: {
      description: 'The data may be erased again.',
      type: 'final',
    },
  },
});
