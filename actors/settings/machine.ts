/**
 * Settings: the values of configuration keys that all processes of a cell apply, and the record of
 * their changes and of those of the agents. One actor per tenant.
 *
 * Invariants: each change has its own version, one more than the one before; its record is stored
 * in the turn that changes the values, and is never changed; a change that changes nothing has
 * none.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as versions from './versions.ts';
import type { SettingsContext, SettingsEvent } from './versions.ts';

export const settingsMachine = setup({
  types: { context: {} as SettingsContext, events: {} as SettingsEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    change: assign(versions.change),
    note: assign(versions.note),
  },
  guards: {
    isTooLarge: versions.isTooLarge,
    isStale: versions.isStale,
    changesNothing: versions.changesNothing,
    hasAgents: versions.hasAgents,
  },
}).createMachine({
  id: 'settings',
  description: 'The settings of all processes of a cell, and who changed them.',
  context: ({ input }) => versions.initialContext(input),
  options: { maxIterations: 10 },
  initial: 'keeping',
  states: {
    keeping: {
      description: 'Records each change and tells the root about agents.',
      on: {
        'settings.change': [
          { guard: 'isTooLarge', actions: { type: 'reply', params: versions.tooLarge } },
          { guard: 'isStale', actions: { type: 'reply', params: versions.stale } },
          { guard: 'changesNothing', actions: { type: 'reply', params: versions.answer } },
          {
            guard: 'hasAgents',
            actions: [
              'change',
              { type: 'append', params: versions.entry },
              { type: 'project', params: versions.row },
              { type: 'tell', params: versions.toRoot },
              { type: 'reply', params: versions.answer },
            ],
          },
          {
            actions: [
              'change',
              { type: 'append', params: versions.entry },
              { type: 'project', params: versions.row },
              { type: 'reply', params: versions.answer },
            ],
          },
        ],
        'settings.note': {
          actions: [
            'note',
            { type: 'append', params: versions.entry },
            { type: 'project', params: versions.row },
          ],
        },
      },
    },
  },
});
