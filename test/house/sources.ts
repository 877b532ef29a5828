/** The source files that the checks of this folder read, and the form of a finding. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../tools/install.mjs';

/** Text by path, relative to the repository, with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

/** `line` counts from 1. `remedy` says what to do about it. */
export type Finding = {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly remedy: string;
};

const notOurs = new Set(['node_modules', 'dist', 'coverage', '.git', 'results']);
/** Of tests that run at the same time (`test/runtime/log/child.ts`). */
const TEMPORARY = '.child-';

function* pathsUnder(folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (notOurs.has(entry.name) || entry.name.startsWith(TEMPORARY)) continue;
    if (entry.isDirectory()) yield* pathsUnder(path);
    else if (entry.isFile()) yield path;
  }
}

/** Every file of this repository with one of these endings. */
export function sources(endings: readonly string[]): Sources {
  const paths = [...pathsUnder('')].filter((path) => endings.some((end) => path.endsWith(end)));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** One line for each finding: place, rule and remedy. */
export const complaints = (findings: readonly Finding[]): string[] =>
  findings.map(({ path, line, rule, remedy }) => `${path}:${line} ${rule}: ${remedy}`);
