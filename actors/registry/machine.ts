/**
 * Registry: one per tenant, `{tenant}/registry/agents` (EN14). It is the roll of the agents that
 * are registered, and passes what they say on to the listing of each, which knows the rest: an
 * agent with many actions makes nobody else's turns larger.
 *
 * Every request has two names: `registry.register` of this code, and `registry.register_agent` as
 * the action that agents outside ask for.
 *
 * Invariants: at most AGENTS_MAX agents; every request is answered, by this actor or by the listing
 * it was passed to.
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
    isOnRoll: roll.isOnRoll,
    isNameless: roll.isNameless,
    hasRoom: roll.hasRoom,
    isOfListing: roll.isOfListing,
  },
}).createMachine({
  id: 'registry',
  description: 'The roll of the agents that offer something to the tenant.',
  context: ({ input }) => roll.empty(input),
  options: { maxIterations: 1_000 },
  initial: 'open',
  states: {
    open: {
      description: 'Agents come, say that they live, announce what goes, and leave.',
      on: {
        'registry.register': [
          { guard: 'isNameless', actions: { type: 'reply', params: roll.nameless } },
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { guard: 'hasRoom', actions: ['enrol', { type: 'tell', params: roll.toListing }] },
          { actions: { type: 'reply', params: roll.full } },
        ],
        'registry.register_agent': [
          { guard: 'isNameless', actions: { type: 'reply', params: roll.nameless } },
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { guard: 'hasRoom', actions: ['enrol', { type: 'tell', params: roll.toListing }] },
          { actions: { type: 'reply', params: roll.full } },
        ],
        'registry.heartbeat': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'registry.send_heartbeat': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'registry.deprecate': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'registry.deprecate_action': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'registry.remove': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'registry.remove_agent': [
          { guard: 'isOnRoll', actions: { type: 'tell', params: roll.toListing } },
          { actions: { type: 'reply', params: roll.unknown } },
        ],
        'listing.ended': { guard: 'isOfListing', actions: 'strikeOff' },
      },
    },
  },
});
