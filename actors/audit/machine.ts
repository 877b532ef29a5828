/**
 * Audit: the operator actions of one day, in the order of their arrival. The transcript of the
 * actor holds the records. Records are never changed or removed.
 *
 * Invariant: a message is recorded completely or refused completely.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as day from './day.ts';
import type { AuditContext, AuditEvent } from './day.ts';

export const auditMachine = setup({
  types: { context: {} as AuditContext, events: {} as AuditEvent, input: {} as ActorInput },
  actions: { ...hostActions, count: assign(day.count) },
  guards: { isValid: day.isValid },
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
            guard: 'isValid',
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
