/**
 * Troupe itself, as the other systems of `troupe bench peers`: an actor that counts, asked in this
 * process. The ask is stored before it is applied, and the answer leaves when the new state is
 * known to count.
 *
 * Configuration: embedded, durability `process` (each record is written to the file and not
 * synced), 8 shards, history and limits as by default.
 */
import { assign, setup } from 'xstate';
import type { PeerDriver } from '../../../loadtest/peers/peer.ts';
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type ActorInput, type Delivered, hostActions } from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded } from '../../../runtime/index.ts';

const counterMachine = setup({
  types: {
    context: {} as { n: number },
    events: {} as Delivered<{ type: 'add' }>,
    input: {} as ActorInput,
  },
  actions: { ...hostActions, add: assign({ n: ({ context }) => context.n + 1 }) },
}).createMachine({
  id: 'counter',
  context: { n: 0 },
  initial: 'counting',
  options: { maxIterations: 100 },
  states: {
    counting: {
      description: 'It adds 1 and replies with the sum.',
      on: {
        add: {
          actions: [
            'add',
            {
              type: 'reply',
              params: ({ context, event }) => ({ to: event.meta.reply, result: context.n }),
            },
          ],
        },
      },
    },
  },
});

const SHARDS = 8;
const TIMEOUT_MS = 30_000;
const principal = { sub: 'bench', roles: ['operator'] };

export const ownCounter: PeerDriver = {
  name: 'troupe',
  needs: { packages: [] },
  guarantee: 'an ask that was accepted is applied once',
  async start({ data }) {
    const ports = await openEmbedded({ path: data, durability: 'process' });
    const counter = defineActor({ type: 'counter', version: 1, machine: counterMachine });
    const system = await createSystem({
      ...ports,
      actors: [counter],
      shards: SHARDS,
      onAlarm: (what) => process.stderr.write(`troupe: ${what}\n`),
    });
    return {
      async add(at) {
        const to = address('default', 'counter', String(at));
        const options = { principal, timeoutMs: TIMEOUT_MS };
        const answer = await system.ask(to, { type: 'add' }, options);
        if (answer.kind === 'answered') return answer.result as number;
        throw new TroupeError('UNAVAILABLE', `the counter did not answer: ${answer.kind}`);
      },
      stop: () => system.stop(),
    };
  },
};
