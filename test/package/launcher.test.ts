/** `bin/troupe.js` where there is no program to start. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';

// absent before Node 22.8, and so from the types
const { enableCompileCache } = nodeModule as { enableCompileCache?: unknown };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-launcher-'));
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterEach(() => rmSync(folder, { recursive: true }));

const started = () =>
  spawnSync(process.execPath, [join(folder, 'bin', 'troupe.js'), 'chat'], { encoding: 'utf8' });

test('in a checkout that is not built, it says what to run and where', () => {
  mkdirSync(join(folder, 'tools'));
  writeFileSync(join(folder, 'tools', 'build.mjs'), '');
  const { status, stdout, stderr } = started();
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain('npm run build');
  expect(stderr).toContain(folder);
});

test('in a package that lacks its program, it says to install it again', () => {
  const { status, stderr } = started();
  expect(status).toBe(1);
  expect(stderr).toContain('Install the package again');
});

test('it starts the program in its own process, with its arguments', () => {
  mkdirSync(join(folder, 'dist'));
  writeFileSync(
    join(folder, 'dist', 'troupe.js'),
    'console.log(JSON.stringify([process.pid, process.argv.slice(2)]))',
  );
  const { pid, status, stdout } = started();
  expect([status, JSON.parse(stdout)]).toEqual([0, [pid, ['chat']]]);
});

/** Runs a program that stays until it has printed its compile cache, like `troupe start`. */
const cacheOf = (env: Readonly<Record<string, string>>) => {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  writeFileSync(
    join(folder, 'dist', 'troupe.js'),
    "import * as m from 'node:module';\n" +
      'console.log(JSON.stringify(m.getCompileCacheDir?.() ?? null))',
  );
  const args = [join(folder, 'bin', 'troupe.js'), 'start'];
  const { PATH = '' } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH, ...env },
  });
  return { status, stderr, dir: status === 0 ? (JSON.parse(stdout) as string | null) : stdout };
};

test.skipIf(enableCompileCache === undefined)(
  'a program that stays keeps compiled code in the cache folder, or where the user says (Node 22.8)',
  () => {
    const caches = join(folder, 'caches');
    const own = join(caches, 'troupe', 'compiled');
    expect(cacheOf({ XDG_CACHE_HOME: caches }).dir).toContain(own);
    expect(readdirSync(own)).not.toEqual([]);
    expect(cacheOf({ HOME: folder }).dir).toContain(join(folder, '.cache', 'troupe'));
    const named = join(folder, 'named');
    expect(cacheOf({ XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: named }).dir).toContain(named);
    expect(cacheOf({ HOME: folder, NODE_DISABLE_COMPILE_CACHE: '1' }).dir).toBeNull();
  },
);

test('it starts where no compiled code can be kept', () => {
  writeFileSync(join(folder, 'file'), '');
  const noFolder = cacheOf({ XDG_CACHE_HOME: join(folder, 'file') });
  expect(noFolder).toEqual({ status: 0, stderr: '', dir: null });
  // and without a home folder that Node can find
  expect(cacheOf({})).toMatchObject({ status: 0, stderr: '' });
});

// Bug hunted: HOME= put `.cache/troupe` into the working folder.
test('it keeps nothing in the working folder where HOME or XDG_CACHE_HOME is not absolute', () => {
  const nothing = { status: 0, stderr: '', dir: null };
  expect(cacheOf({ HOME: '' })).toEqual(nothing);
  expect(cacheOf({ HOME: '.' })).toEqual(nothing);
  expect(cacheOf({ HOME: folder, XDG_CACHE_HOME: 'caches' })).toEqual(nothing);
  expect(readdirSync(folder).toSorted()).toEqual(['bin', 'dist', 'package.json']);
});

test('npm can link it without a build: it is executable', () => {
  expect(statSync(join(root, 'bin', 'troupe.js')).mode & 0o111).toBe(0o111);
});
