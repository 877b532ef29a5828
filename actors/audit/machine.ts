/**
 * Audit: what was done by whom on one day, in the order it was noted. Its transcript holds the
 * records; nothing is ever changed or left out of it.
 *
 *  - `keeping`: it notes what is fit and answers how much it was.
 *
 * Invariant: a note is kept whole or refused whole.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as day from './day.ts';
import type { AuditContext, AuditEvent } from './day.ts';

export const auditMachine = setup({
  types: { context: {} as AuditContext, events: {} as AuditEvent, input: {} as ActorInput },
  actions: { ...hostActions, count: assign(day.count) },
  guards: { isFit: day.isValid },
}).createMachine({
  id: 'audit',
  description: 'The operator actions of one day.',
  options: { maxIterations: 10 },
  context: ({ input }) => day.initialContext(input),
  initial: 'keeping',
  states: {
    keeping: {
      description: 'Records valid entries.',
      on: {
        'audit.note': [
          {
            guard: 'isFit',
            actions: [
              'count',
              { type: 'append', params: day.entries },
              { type: 'project', params: day.row },
              { type: 'reply', params: day.noted },
            ],
          },
          { actions: { type: 'reply', params: day.unfit } },
        ],
      },
    },
  },
});
