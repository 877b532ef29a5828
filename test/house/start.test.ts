import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';

/** A program that prints its name, process id and arguments, and can wait for SIGTERM. */
const program = (name: string) => `
if (process.argv.includes('--wait')) {
  process.on('SIGTERM', () => process.exit(7));
  setInterval(() => {}, 1000);
}
const lazy = process.argv.includes('--lazy') ? (await import('./lazy.ts')).answer : 'not loaded';
console.log(JSON.stringify({ name: '${name}', pid: process.pid, argv: process.argv.slice(2), lazy }));
`;

describe('npm start, in a clone with a small program', () => {
  let clone: string;
  const running = new Set<ChildProcess>();

  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'troupe-clone-'));
    for (const part of ['tools', 'package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(join(root, part), join(clone, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'dir');
    for (const folder of ['cli', 'web']) mkdirSync(join(clone, folder));
    write('cli/main.ts', program('first'));
    write('cli/lazy.ts', `export const answer: string = 'loaded';`);
    write('web/main.tsx', `document.body.append('hello');`);
    write('web/index.html', '<!doctype html>');
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
    rmSync(clone, { recursive: true });
  });

  const write = (path: string, contents: string) => writeFileSync(join(clone, path), contents);

  const start = (...args: string[]) => {
    const child = spawn(process.execPath, [join(clone, 'tools', 'start.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    return child;
  };

  const said = async (...args: string[]) => {
    const child = start(...args);
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(err).toBe('');
    return JSON.parse(out) as { name: string; pid: number; argv: string[]; lazy: string };
  };

  test('passes arguments on after the command, and loads lazily what is imported lazily', async () => {
    const answer = await said('--lazy', '--port', '0');
    expect(answer).toMatchObject({ argv: ['start', '--lazy', '--port', '0'], lazy: 'loaded' });
    expect((await said()).lazy).toBe('not loaded');
  });

  test('runs the program in its own process, so that a signal hits the program', async () => {
    const child = start('--wait');
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ pid: child.pid });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([7, null]);
  });

  test('builds again when a source changed, and only then', async () => {
    await said();
    const bundle = join(clone, 'dist', 'troupe.js');
    utimesSync(bundle, 1, 1);
    expect((await said()).name).toBe('first');
    expect(statSync(bundle).mtimeMs).toBe(1000);
    write('cli/main.ts', program('second'));
    expect((await said()).name).toBe('second');
    expect(statSync(bundle).mtimeMs).toBeGreaterThan(1000);
    expect(() => accessSync(bundle, constants.X_OK)).not.toThrow();
  });

  test('builds the page and copies what it needs beside it', async () => {
    await said();
    expect(readFileSync(join(clone, 'dist', 'web', 'main.js'), 'utf8')).toContain('hello');
    expect(existsSync(join(clone, 'dist', 'web', 'index.html'))).toBe(true);
    expect(existsSync(join(clone, 'dist', 'web', 'main.tsx'))).toBe(false);
  });

  test('a build that fails says so, starts nothing and ends with an error', async () => {
    write('cli/main.ts', `import { gone } from './gone.ts';\nconsole.log(gone);`);
    const child = start();
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect(out).toBe('');
    expect(err).toContain('./gone.ts');
    expect(err).toContain('the build failed');
    expect(code).toBe(1);
  });
});
