/**
 * The seed of all property tests (fast-check). It is fixed, so that each run tests the same cases;
 * `TROUPE_TEST_SEED=random` tests others, and a number repeats those of that seed.
 */
import fc from 'fast-check';

const { TROUPE_TEST_SEED: seed = '1' } = process.env;
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) });
