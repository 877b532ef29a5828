/** Builds the simulator with one changed line of the runtime, and runs it in a separate process. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import type { Mutant } from './mutants.ts';

export type Caught = { readonly seed: number; readonly fault: string };

/** The source of a file with the mutant's changes. @throws when a line is not there exactly once */
export function mutate({ name, changes }: Mutant, file: string, source: string): string {
  return changes
    .filter((change) => change.file === file)
    .reduce((changed, { find, replace }) => {
      const found = changed.split(find).length - 1;
      if (found === 1) return changed.replace(find, () => replace);
      throw new Error(`the mutant '${name}' is stale: its line stands ${found} times in ${file}`);
    }, source);
}

/**
 * A bundle of the trial, with the mutant's changes if one is given.
 * @throws when a file that the mutant changes is not part of the bundle
 */
export async function bundleTrial(mutant?: Mutant): Promise<string> {
  const folder = join(root, 'node_modules', '.cache', 'troupe', 'sabotage');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${(mutant?.name ?? 'sound').replaceAll(/\W+/g, '-')}.mjs`);
  const unchanged = new Set(mutant?.changes.map(({ file }) => file));
  const files = new Set(unchanged);
  const change: esbuild.Plugin = {
    name: 'sabotage',
    setup(build) {
      if (!mutant) return;
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(root, path);
        if (!files.has(file)) return undefined;
        unchanged.delete(file);
        return { contents: mutate(mutant, file, readFileSync(path, 'utf8')), loader: 'ts' };
      });
    },
  };
  const entry = { entryPoints: ['test/sabotage/trial.ts'], outfile, packages: 'external' as const };
  await esbuild.build({
    ...nodeBundle,
    ...entry,
    format: 'esm',
    platform: 'node',
    plugins: [change],
  });
  if (mutant && unchanged.size > 0)
    throw new Error(`the mutant '${mutant.name}' is stale: no ${[...unchanged].join(', ')}`);
  return outfile;
}

/**
 * Runs seeds until one fails; undefined when all pass. A run beyond the time limit and a process
 * that dies count as failures, too.
 */
export async function runTrial(
  bundle: string,
  from: number,
  to: number,
  limitMs: number,
): Promise<Caught | undefined> {
  const args = [bundle, String(from), String(to)];
  const options = { timeout: limitMs, killSignal: 'SIGKILL' } as const;
  type Ended = { stdout: string; stderr: string; killed: boolean };
  const { stdout, stderr, killed } = await new Promise<Ended>((resolve) => {
    execFile(process.execPath, args, options, (error, out, err) =>
      resolve({ stdout: out, stderr: err, killed: error?.killed ?? false }),
    );
  });
  if (killed) return { seed: from, fault: `no end within ${limitMs} ms` };
  if (stdout === '') return { seed: from, fault: `the process died: ${stderr.trim().slice(-200)}` };
  const { seed, fault } = JSON.parse(stdout) as { seed: number | null; fault?: string };
  return seed === null ? undefined : { seed, fault: fault ?? '' };
}

/** The mutant's own seed first, then all of them; undefined when it survives. */
export async function findFault(
  mutant: Mutant,
  from: number,
  to: number,
  limitMs: number,
): Promise<Caught | undefined> {
  const bundle = await bundleTrial(mutant);
  const { seed } = mutant;
  const known = seed === undefined ? undefined : await runTrial(bundle, seed, seed, limitMs);
  return known ?? runTrial(bundle, from, to, limitMs);
}
