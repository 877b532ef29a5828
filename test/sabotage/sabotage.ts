/**
 * Runs the simulator, or a test file, in a separate process with one changed line of the product.
 */
import { execFile, type ExecFileOptions } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import type { Mutant } from './mutants.ts';

/** `by`: `seed 3`, or the path of a test file. */
export type Caught = { readonly by: string; readonly fault: string };

/** The source of a file with the mutant's changes. @throws when a line is not there exactly once */
export function mutate({ name, changes }: Mutant, file: string, source: string): string {
  return changes
    .filter((change) => change.file === file)
    .reduce((changed, { find, replace }) => {
      const found = changed.split(find).length - 1;
      if (found === 1) return changed.replace(find, () => replace);
      throw new Error(`the mutant '${name}' is stale: its line occurs ${found} times in ${file}`);
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
  const { stdout, stderr, killed } = await run(args, options);
  const by = `seeds from ${from}`;
  if (killed) return { by, fault: `no end within ${limitMs} ms` };
  if (stdout === '') return { by, fault: `the process died: ${stderr.trim().slice(-200)}` };
  const { seed, fault } = JSON.parse(stdout) as { seed: number | null; fault?: string };
  return seed === null ? undefined : { by: `seed ${seed}`, fault: fault ?? '' };
}

type Ended = { readonly stdout: string; readonly stderr: string; readonly killed: boolean };

const run = (args: readonly string[], options: ExecFileOptions): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, killed: error?.killed ?? false }),
    );
  });

/**
 * Runs a test file on the changed lines (`mutated.config.ts`); undefined when every test passes.
 * @param only words of the names of the tests that run; default all
 * @throws when no test ran
 */
export async function runTests(
  mutant: Mutant,
  file: string,
  limitMs: number,
  only?: string,
): Promise<Caught | undefined> {
  for (const change of mutant.changes)
    mutate(mutant, change.file, readFileSync(join(root, change.file), 'utf8'));
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const config = join('test', 'sabotage', 'mutated.config.ts');
  const some = only === undefined ? [] : ['--testNamePattern', only];
  const args = [vitest, 'run', file, '--config', config, '--bail=1', '--reporter=json', ...some];
  const env = { ...process.env, TROUPE_MUTANT: mutant.name };
  const options = { cwd: root, env, timeout: limitMs, killSignal: 'SIGKILL' } as const;
  const { stdout, stderr, killed } = await run(args, options);
  if (killed) return { by: file, fault: `no end within ${limitMs} ms` };
  const { testResults } = JSON.parse(stdout) as TestReport;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (tests.length === 0) throw new Error(`no test of ${file} ran: ${stderr.slice(-500)}`);
  const failed = tests.find(({ status }) => status === 'failed');
  return failed && { by: file, fault: failed.fullName.trim() };
}

/** Of vitest's JSON reporter. */
type TestReport = {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
};

/**
 * What caught it before, a test of its file or a seed, and then all of them; undefined when it
 * survives.
 */
export async function findFault(
  mutant: Mutant,
  from: number,
  to: number,
  limitMs: number,
): Promise<Caught | undefined> {
  const { seed, test, first } = mutant;
  if (test !== undefined) {
    const failed = first === undefined ? undefined : await runTests(mutant, test, limitMs, first);
    return failed ?? runTests(mutant, test, limitMs);
  }
  const bundle = await bundleTrial(mutant);
  const known = seed === undefined ? undefined : await runTrial(bundle, seed, seed, limitMs);
  return known ?? runTrial(bundle, from, to, limitMs);
}
