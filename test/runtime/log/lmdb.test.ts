import { lmdbUnderTest } from './store.ts';
import { logContract } from './contract.ts';

logContract('LMDB, durability process', () => lmdbUnderTest('process'));
logContract('LMDB, durability power', () => lmdbUnderTest('power'));
