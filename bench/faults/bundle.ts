/** Builds the program of the workers, because Node 20 does not read TypeScript. */
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

/** Returns the command: the program and its first arguments. */
export async function buildWorker(): Promise<readonly string[]> {
  // below the repository, where imports find its packages
  const outfile = join(root, 'dist', 'run', `faults-worker-${process.pid}.mjs`);
  const entryPoints = ['bench/faults-worker.ts'];
  await esbuild.build({ ...nodeBundle, entryPoints, outfile, packages: 'external' });
  return [process.execPath, '--enable-source-maps', outfile];
}
