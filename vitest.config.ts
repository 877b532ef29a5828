/**
 * How vitest runs the tests: which files share a process, in which order files start, and what
 * loads their modules. Every test file belongs to exactly one project.
 */
import { relative } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { root } from './tools/install.mjs';
import { longestFirst, packageEntries, sharedFiles } from './tools/test-files.mjs';

/**
 * From 22.18 on, Node itself loads TypeScript. A simulation then takes a fifth less processor time
 * than with vitest's loader, whose modules read every import through an object.
 */
const { typescript: nodeLoads } = process.features as { readonly typescript?: 'strip' | false };

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
    alias: Object.entries(packageEntries).map(([name, replacement]) => ({
      find: new RegExp(`^${name}$`),
      replacement,
    })),
  },
  test: {
    // Forks: LMDB allows one environment of a folder per process, and a crash stays in its process.
    pool: 'forks',
    maxWorkers: 3,
    experimental: { viteModuleRunner: !nodeLoads },
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
    setupFiles: [...(nodeLoads ? ['tools/test-loader.mjs'] : []), 'test/seed.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
