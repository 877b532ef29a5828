import fc from 'fast-check';
import { expect, it } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { compareUtf8 } from '../../../runtime/state/row.ts';
import { lmdbUnderTest } from '../log/store.ts';
import { stateContract, type StateUnderTest } from './contract.ts';

const lmdbState = async (): Promise<StateUnderTest> => {
  const { store, dispose, reopen } = await lmdbUnderTest('process');
  return {
    state: store.state,
    dispose,
    async reopen() {
      const next = await reopen!();
      return { state: next.state!, dispose: next.dispose };
    },
  };
};

stateContract('LMDB', lmdbState);
stateContract('memory', async () => {
  const { state } = createMemoryStore({ clock: systemClock });
  return { state, dispose: () => state.close() };
});

it('compares any two texts as their UTF-8 bytes compare', () => {
  const text = fc.string({ unit: 'binary' });
  const order = fc.property(text, text, (a, b) => {
    const wanted = Buffer.compare(Buffer.from(a), Buffer.from(b));
    expect(Math.sign(compareUtf8(a, b))).toBe(wanted);
  });
  fc.assert(order, { numRuns: 1000 });
});
