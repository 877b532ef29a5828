import { defineConfig } from 'vitest/config';

/** Run by `npm run test:openclaw`, which fetches OpenClaw; not part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/openclaw/*.suite.ts'],
    pool: 'forks',
    maxWorkers: 1,
    // OpenClaw's command line takes 1 to 4 s to start, and 10 s on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
