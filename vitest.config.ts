/**
 * How vitest runs the tests: which files share a process, in which order files start, and where the
 * entries of the package are. Every test file belongs to exactly one project.
 */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { root } from './tools/install.mjs';
import { longestFirst, sharedFiles } from './tools/test-files.mjs';

/** The entries of the package as sources, as the `paths` of tsconfig.json have them. */
const entries = {
  'troupe/agents': './library/agents.ts',
  'troupe/client': './library/client.ts',
  'troupe/hooks': './agent/hooks/define-hooks.ts',
  'troupe/plugin-sdk': './agent/plugins/plugin-sdk.ts',
  'troupe/test': './library/test.ts',
  troupe: './library/index.ts',
};

const shared = sharedFiles();

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const inOrder = longestFirst((path) => shared.includes(path));
    const pathOf = ({ moduleId }: TestSpecification) => relative(root, moduleId);
    return files.toSorted((a, b) => inOrder(pathOf(a), pathOf(b)));
  }
}

export default defineConfig({
  resolve: {
    alias: Object.entries(entries).map(([name, path]) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(new URL(path, import.meta.url)),
    })),
  },
  test: {
    // Forks: LMDB allows one environment of a folder per process, and a crash stays in its process.
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // a process per file
        extends: true,
        test: {
          name: 'own',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...shared],
        },
      },
      // files one after the other in a process, which imports each module once
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
    ],
    setupFiles: 'test/seed.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
