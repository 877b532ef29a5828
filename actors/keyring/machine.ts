/**
 * Keyring: the public keys of programs outside, one per tenant, address `{tenant}/keyring/keys`
 * (EN12). A key is good for 90 days; a rotation leaves the old one good for an overlap; what is
 * over stays in the list, so that it can not come back, until room is needed.
 *
 *  - `resting`: no key is good, nothing ends by itself;
 *  - `keeping`: keys are good, the next one's end is waited for;
 *  - `telling`: rows of the index follow what has changed, within the same turn.
 *
 * Invariants: a kid is one key of one principal for ever (a thumbprint); a key that is over never
 * becomes good again, and no change makes one good for longer; every request is answered once.
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
    isUnfit: keys.isUnfit,
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
      { guard: 'isUnfit', actions: { type: 'reply', params: keys.refused } },
      { target: '.telling', actions: ['add', { type: 'reply', params: keys.answered }] },
    ],
    'keyring.rotate': [
      { guard: 'isUnfit', actions: { type: 'reply', params: keys.refused } },
      {
        target: '.telling',
        actions: ['retireOthers', 'add', { type: 'reply', params: keys.answered }],
      },
    ],
    'keyring.revoke': [
      { guard: 'isUnfit', actions: { type: 'reply', params: keys.refused } },
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
