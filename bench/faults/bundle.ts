/** Builds the program of the workers, because Node 20 does not read TypeScript. */
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { asNext } from '../../test/upgrade/next-build.ts';
import { root } from '../../tools/install.mjs';

/**
 * Returns the command: the program and its first arguments.
 * @param isNext of the next version, which has another format of records
 */
export async function buildWorker({ isNext = false } = {}): Promise<readonly string[]> {
  // below the repository, where imports find its packages
  const name = `faults-worker-${isNext ? 'next-' : ''}${process.pid}.mjs`;
  const outfile = join(root, 'dist', 'run', name);
  const entryPoints = ['bench/faults-worker.ts'];
  const plugins = isNext ? [asNext] : [];
  await esbuild.build({ ...nodeBundle, entryPoints, outfile, packages: 'external', plugins });
  return [process.execPath, '--enable-source-maps', outfile];
}
