/** The pages as `npm run build` builds them, in a separate folder. */
import { copyFileSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pageBundles } from '../../tools/build.mjs';

const source = fileURLToPath(new URL('../../web/', import.meta.url));

/** Returns the folder; the caller removes it. */
export const buildPage = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-web-'));
  const options = { outdir: folder, sourcemap: false, write: true } as const;
  await Promise.all(pageBundles.map((page) => build({ ...page, ...options })));
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    if (entry.isFile() && !['.ts', '.tsx', '.css'].includes(extname(entry.name)))
      copyFileSync(join(source, entry.name), join(folder, entry.name));
  }
  return folder;
};
