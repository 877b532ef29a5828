/** vitest with the changes of the mutant that TROUPE_MUTANT names. */
import { relative } from 'node:path';
import { mergeConfig } from 'vitest/config';
import { root } from '../../tools/install.mjs';
import base from '../../vitest.config.ts';
import { mutants } from './mutants.ts';
import { mutate } from './sabotage.ts';

const mutant = mutants.find(({ name }) => name === process.env['TROUPE_MUTANT'])!;

export default mergeConfig(base, {
  root,
  plugins: [
    {
      name: 'sabotage',
      enforce: 'pre',
      transform: (source: string, path: string) => mutate(mutant, relative(root, path), source),
    },
  ],
});
