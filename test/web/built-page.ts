/** The page as `npm run build` builds it, in a separate folder. */
import { copyFileSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const source = fileURLToPath(new URL('../../web/', import.meta.url));

/** Returns the folder; the caller removes it. */
export const buildPage = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-web-'));
  await build({
    absWorkingDir: source,
    entryPoints: { main: 'main.tsx', node: 'node/main.tsx' },
    outdir: folder,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    logLevel: 'warning',
  });
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    if (entry.isFile() && !['.ts', '.tsx'].includes(extname(entry.name)))
      copyFileSync(join(source, entry.name), join(folder, entry.name));
  }
  return folder;
};
