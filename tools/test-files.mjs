/**
 * Which test files share a process, in which order files start, and which sources are the entries
 * of the package. vitest.config.ts uses all of it.
 *
 * A file that shares its process imports the product only once per process instead of once per
 * file: a process of its own costs a file 1.7 s of processor time. Files whose tests change the
 * process itself (environment, globals, mocks) run in a process of their own.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import JSON5 from 'json5';
import { root } from './install.mjs';

/**
 * Folders of `test` whose files share. A folder is added after its files passed in one process,
 * without unhandled errors.
 */
const sharedFolders = [
  'actors',
  'agent',
  'agent-runs',
  'bench',
  'channels',
  'charts',
  'cli',
  'client',
  'cluster',
  'compose',
  'conformance',
  'deploy',
  'docs',
  'house',
  'import',
  'installation',
  'kill',
  'library',
  'loadtest',
  'memory',
  'model',
  'operations',
  'package',
  'protocols',
  'runtime',
  'sample-agents',
  'servers',
  'sim',
  'stored',
  'upgrade',
  'web',
];

/**
 * What a test file contains that measures its process, or changes it for every file after it.
 * `runOnNats` runs suites of other files, on another backbone.
 */
const changesProcess =
  /\brunOnNats\(|\b(?:memory|cpu)Usage\(|\bvi\.(?:mock|doMock|stub|spyOn|useFakeTimers|setSystemTime)|process\.env(?:\[[^\]]*\]|\.\w+) *=[^=]|delete process\.env|process\.(?:chdir|on|once|emit)\(|Object\.assign\(process\.|\bsetGlobal|\bglobalThis(?:\.\w+|\[[^\]]*\]) *=[^=]/;

/** Seconds that each file took on two cores; `TROUPE_TEST_SECONDS=record npm test` writes it. */
const secondsFile = join(root, 'test', 'seconds.json');

/** The entries of the package as sources. */
export const packageEntries = Object.fromEntries(
  Object.entries(pathsOfTsconfig()).map(([name, [path]]) => [name, join(root, path)]),
);

function pathsOfTsconfig() {
  const text = readFileSync(join(root, 'tsconfig.json'), 'utf8');
  return JSON5.parse(text).compilerOptions.paths;
}

const isTest = (path) => path.endsWith('.test.ts');

function testsIn(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isTest(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((path) => relative(root, path).split(sep).join('/'));
}

/** Paths of the files that share a process, relative to the repository. */
export function sharedFiles() {
  return sharedFolders
    .flatMap((folder) => testsIn(`test/${folder}`))
    .filter((path) => !changesProcess.test(readFileSync(join(root, path), 'utf8')))
    .toSorted();
}

const recordedSeconds = () =>
  existsSync(secondsFile) ? JSON.parse(readFileSync(secondsFile, 'utf8')) : {};

/**
 * Compares two paths for a sort: files with a process of their own come first, and of each kind the
 * longest first, so that no long file is left when the others have ended.
 * @param shares whether a path shares its process
 */
export function longestFirst(shares) {
  const seconds = recordedSeconds();
  const of = (path) => seconds[path] ?? 0;
  return (a, b) => Number(shares(a)) - Number(shares(b)) || of(b) - of(a) || (a < b ? -1 : 1);
}

/** Records how long files took: those of a second or more, in whole seconds. */
export function recordSeconds(took) {
  const entries = took.map(([path, ms]) => [path, Math.round(ms / 1000)]);
  const long = entries
    .filter(([, seconds]) => seconds > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(secondsFile, `${JSON.stringify(Object.fromEntries(long), null, 1)}\n`);
}
