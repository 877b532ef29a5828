import { defineConfig } from 'vitest/config';

/** Run by `npm run test:openclaw`, which fetches what it needs; `npm test` leaves it out. */
export default defineConfig({
  test: {
    include: ['test/openclaw/*.suite.ts'],
    pool: 'forks',
    maxWorkers: 1,
    // OpenClaw's command line takes 1 to 4 s to start, and 10 where the machine is busy.
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
