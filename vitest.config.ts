import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    // A fork per file: LMDB allows one environment of a folder per process, and a crash stays in
    // its file.
    pool: 'forks',
    maxWorkers: 2,
    setupFiles: 'test/seed.ts',
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
