/**
 * Keyring: the public keys of external programs, one actor per tenant (`{tenant}/keyring/keys`). A
 * key is valid for 90 days. A rotation keeps the previous key valid for an overlap. Expired and
 * revoked keys stay in the list, so that they cannot be registered again, until the list is full.
 *
 * Invariants: a kid (a thumbprint) always names the same key and principal; an expired or revoked
 * key never becomes valid again, and no change extends a validity; each request is answered once.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as keys from './keys.ts';
import type { KeyringContext, KeyringEvent } from './types.ts';

export const keyringMachine = setup({
  types: {
    context: {} as KeyringContext,
    events: {} as KeyringEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    add: assign(keys.add),
    retireOthers: assign(keys.retireOthers),
    revoke: assign(keys.revoke),
    expireDue: assign(keys.expireDue),
    dropFirst: assign(({ context }) => keys.dropFirst(context)),
  },
  guards: {
    isInvalid: keys.isInvalid,
    isBehind: ({ context }) => keys.isBehind(context),
    somethingEnds: ({ context }) => keys.somethingEnds(context),
  },
  delays: { untilNextEnd: keys.nextEndMs },
}).createMachine({
  id: 'keyring',
  description: 'The public keys of external programs of one tenant.',
  context: () => keys.initialContext(),
  options: { maxIterations: 1_000 },
  initial: 'resting',
  on: {
    'keyring.add': [
      { guard: 'isInvalid', actions: { type: 'reply', params: keys.refused } },
      { target: '.telling', actions: ['add', { type: 'reply', params: keys.answered }] },
    ],
    'keyring.rotate': [
      { guard: 'isInvalid', actions: { type: 'reply', params: keys.refused } },
      {
        target: '.telling',
        actions: ['retireOthers', 'add', { type: 'reply', params: keys.answered }],
      },
    ],
    'keyring.revoke': [
      { guard: 'isInvalid', actions: { type: 'reply', params: keys.refused } },
      { target: '.telling', actions: ['revoke', { type: 'reply', params: keys.answered }] },
    ],
  },
  states: {
    resting: { description: 'No key is valid; nothing expires.' },
    keeping: {
      description: 'Keys are valid; waits until the next one expires.',
      after: { untilNextEnd: { target: 'telling', actions: 'expireDue' } },
    },
    telling: {
      description: 'Writes the rows of changed keys.',
      always: [
        {
          guard: 'isBehind',
          actions: [
            { type: 'project', params: ({ context }) => keys.projected(context) },
            'dropFirst',
          ],
        },
        { guard: 'somethingEnds', target: 'keeping' },
        { target: 'resting' },
      ],
    },
  },
});
