/** Builds the program of the workers: Node 20 does not read TypeScript. */
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

/** Answers what to start: the program and its first arguments. */
export async function buildWorker(): Promise<readonly string[]> {
  // below the repository, where its packages are found
  const outfile = join(root, 'dist', 'run', `faults-worker-${process.pid}.mjs`);
  const entryPoints = ['bench/faults-worker.ts'];
  await esbuild.build({ ...nodeBundle, entryPoints, outfile, packages: 'external' });
  return [process.execPath, '--enable-source-maps', outfile];
}
