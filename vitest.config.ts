import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The entries of the package as sources, as the `paths` of tsconfig.json have them. */
const entries = {
  'troupe/agents': './library/agents.ts',
  'troupe/client': './library/client.ts',
  'troupe/hooks': './agent/hooks/define-hooks.ts',
  'troupe/plugin-sdk': './agent/plugins/plugin-sdk.ts',
  'troupe/test': './library/test.ts',
  troupe: './library/index.ts',
};

export default defineConfig({
  resolve: {
    alias: Object.entries(entries).map(([name, path]) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(new URL(path, import.meta.url)),
    })),
  },
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
