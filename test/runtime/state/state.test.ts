import fc from 'fast-check';
import { expect, it } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { compareUtf8 } from '../../../runtime/state/row.ts';
import { type EmbeddedUnderTest, embeddedUnderTest } from '../log/store.ts';
import { stateContract, type StateUnderTest } from './contract.ts';

const embeddedState = (under: EmbeddedUnderTest): StateUnderTest => ({
  state: under.store.state,
  dispose: under.dispose,
  reopen: async () => embeddedState(await under.reopen()),
});

stateContract('embedded', async () => embeddedState(await embeddedUnderTest('process')));
stateContract('embedded, a checkpoint after each change', async () =>
  embeddedState(await embeddedUnderTest('process', { checkpointBytes: 1, checkpointEveryMs: 0 })),
);
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
