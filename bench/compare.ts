/**
 * `npm run bench -- compare FOLDER SCENARIO…`: runs scenarios in another checkout and in this one
 * alternately, one repeat each, so that what the machine does meanwhile affects both alike. Prints
 * the medians of every figure that both have, and their ratio.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Results } from './harness/runner.ts';
import { median } from './harness/statistics.ts';

export type CompareOptions = {
  /** the other checkout, installed and built */
  readonly folder: string;
  readonly scenarios: readonly string[];
  /** pairs of runs; default 5 */
  readonly rounds?: number;
  readonly quick: boolean;
  readonly onProgress: (line: string) => void;
};

/** Values by `scenario.figure`. */
type Figures = Map<string, { readonly unit: string; readonly values: number[] }>;

const ROUNDS = 5;

/** @throws Error when the folder is not a checkout that can be run, or a scenario fails */
export function compareCheckouts(options: CompareOptions): string {
  const { folder, scenarios, rounds = ROUNDS, quick, onProgress } = options;
  const other = resolve(folder);
  for (const needed of ['bench/main.ts', 'node_modules', 'dist/troupe.js'])
    if (!existsSync(join(other, needed)))
      throw new Error(`${join(other, needed)} is missing: install and build that checkout first`);
  const [before, after]: [Figures, Figures] = [new Map(), new Map()];
  for (let round = 1; round <= rounds; round++) {
    onProgress(`round ${round} of ${rounds}`);
    const both: [string, Figures][] = [
      [other, before],
      [process.cwd(), after],
    ];
    for (const [checkout, figures] of round % 2 === 0 ? both.toReversed() : both)
      measure(checkout, scenarios, quick, figures);
  }
  return tableOf(before, after, rounds);
}

function measure(
  checkout: string,
  scenarios: readonly string[],
  quick: boolean,
  figures: Figures,
): void {
  const scratch = mkdtempSync(join(tmpdir(), 'troupe-compare-'));
  const file = join(scratch, 'results.json');
  const args = [...scenarios, '--repeats', '1', '--json', file, ...(quick ? ['--quick'] : [])];
  try {
    execFileSync('npm', ['run', '--silent', 'bench', '--', ...args], {
      cwd: checkout,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const results = JSON.parse(readFileSync(file, 'utf8')) as Results;
    for (const scenario of results.scenarios) {
      if (scenario.status === 'failed')
        throw new Error(`${scenario.name} failed in ${checkout}: ${scenario.why}`);
      for (const [name, { unit, median: value }] of Object.entries(scenario.figures)) {
        const key = `${scenario.name}.${name}`;
        const known = figures.get(key) ?? { unit, values: [] };
        known.values.push(value);
        figures.set(key, known);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function tableOf(before: Figures, after: Figures, rounds: number): string {
  const lines = [`medians of ${rounds} alternating runs; ratio: other / this`];
  for (const [name, { unit, values }] of before) {
    const mine = after.get(name);
    if (!mine) continue;
    const [theirs, ours] = [median(values), median(mine.values)];
    const ratio = ours === 0 ? '' : (theirs / ours).toFixed(2);
    const cells = [name.padEnd(34), ...[theirs, ours].map((value) => shown(value).padStart(10))];
    lines.push(`${cells.join(' ')} ${unit.padEnd(4)} ${ratio.padStart(8)}`);
  }
  return lines.join('\n');
}

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
