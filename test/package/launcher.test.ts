/** `bin/troupe.js` where there is no program to start. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';

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

test('npm can link it without a build: it is executable', () => {
  expect(statSync(join(root, 'bin', 'troupe.js')).mode & 0o111).toBe(0o111);
});
