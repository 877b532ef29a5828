import { embeddedUnderTest } from './store.ts';
import { logContract } from './contract.ts';

logContract('embedded, durability process', () => embeddedUnderTest('process'));
logContract('embedded, durability power', () => embeddedUnderTest('power'));
logContract('embedded, a checkpoint after each change', () =>
  embeddedUnderTest('process', { checkpointBytes: 1, checkpointEveryMs: 0 }),
);
