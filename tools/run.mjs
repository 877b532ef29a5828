/**
 * Runs a TypeScript program of this repository: `node tools/run.mjs bench/main.ts check`. Node 20
 * does not read TypeScript, so the program is bundled into dist/run/ first; packages stay outside
 * of the bundle. The program receives only its own arguments.
 */
import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { nodeBundle } from './build.mjs';
import { ensureInstalled, root } from './install.mjs';

const [entry, ...args] = process.argv.slice(2);
if (!entry || !existsSync(join(root, entry))) {
  console.error(`usage: node tools/run.mjs FILE.ts [arguments]; there is no file ${entry ?? ''}`);
  process.exit(2);
}
ensureInstalled({ dev: true });
const outfile = join(root, 'dist', 'run', entry.replaceAll('/', '-').replace(/\.tsx?$/, '.mjs'));
const esbuild = await import('esbuild');
/** Tools find the repository by their own path, so they are not bundled. */
const toolsStay = {
  name: 'tools stay',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\/.*\.mjs$/ }, ({ path, resolveDir }) => {
      const file = join(resolveDir, path);
      return dirname(file) === join(root, 'tools')
        ? { path: pathToFileURL(file).href, external: true }
        : undefined;
    });
  },
};
await esbuild.build({
  ...nodeBundle,
  entryPoints: [entry],
  outfile,
  packages: 'external',
  plugins: [toolsStay],
});
await esbuild.stop();
process.argv = [process.execPath, outfile, ...args];
await import(pathToFileURL(outfile).href);
