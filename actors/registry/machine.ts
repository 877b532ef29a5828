/**
 * Registry: the directory of the registered agents, one actor per tenant
 * (`{tenant}/registry/agents`), which limits their number. The actions and the state of an agent
 * are stored in its listing only, so that an agent with many actions or heartbeats does not enlarge
 * the turns of others.
 *
 * Invariants: at most AGENTS_MAX agents; a listing that has ended is not in the directory.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as roll from './roll.ts';
import type { RegistryContext, RegistryEvent } from './types.ts';

export const registryMachine = setup({
  types: {
    context: {} as RegistryContext,
    events: {} as RegistryEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    enrol: assign(roll.enrol),
    strikeOff: assign(roll.strikeOff),
  },
  guards: {
    isOfListing: roll.isOfListing,
    isOnRoll: roll.isListed,
    hasRoom: roll.hasRoom,
  },
}).createMachine({
  id: 'registry',
  description: 'The directory of the agents that offer actions to the tenant.',
  context: ({ input }) => roll.empty(input),
  options: { maxIterations: 1_000 },
  initial: 'open',
  states: {
    open: {
      description: 'Adds agents to the directory and removes them.',
      on: {
        'registry.enrol': [
          { guard: 'isOnRoll', actions: { type: 'reply', params: roll.enrolled } },
          { guard: 'hasRoom', actions: ['enrol', { type: 'reply', params: roll.enrolled }] },
          { actions: { type: 'reply', params: roll.full } },
        ],
        'listing.ended': { guard: 'isOfListing', actions: 'strikeOff' },
      },
    },
  },
});
