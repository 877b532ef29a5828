/** vitest with the changes of the mutant that TROUPE_MUTANT names. */
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { root } from '../../tools/install.mjs';
import base from '../../vitest.config.ts';
import { mutants } from './mutants.ts';
import { mutate } from './sabotage.ts';

// one file: no projects, each of which would start a server of its own
const { projects: _, ...settings } = base.test!;
const mutant = mutants.find(({ name }) => name === process.env['TROUPE_MUTANT'])!;

export default defineConfig({
  ...base,
  root,
  // A plugin changes what vitest loads, not what Node loads.
  test: { ...settings, experimental: { viteModuleRunner: true } },
  plugins: [
    {
      name: 'sabotage',
      enforce: 'pre',
      transform: (source: string, path: string) => mutate(mutant, relative(root, path), source),
    },
  ],
});
