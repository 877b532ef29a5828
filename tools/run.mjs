/**
 * Runs a TypeScript program of this repository: `node tools/run.mjs bench/main.ts check`. Node 20
 * does not read TypeScript, so the program is bundled into dist/run/ first, with the packages that
 * the product bundles, too: a process that reads their hundreds of files takes twice the time to
 * start. The program receives only its own arguments.
 */
import { dirname, join } from 'node:path';
import { existsSync, readFileSync } from 'node:fs';
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
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
await esbuild.build({
  ...nodeBundle,
  entryPoints: [entry],
  outfile,
  external: [...nodeBundle.external, ...Object.keys(devDependencies)],
  sourcesContent: false,
  plugins: [toolsStay],
});
await esbuild.stop();
process.argv = [process.execPath, outfile, ...args];
await import(pathToFileURL(outfile).href);
