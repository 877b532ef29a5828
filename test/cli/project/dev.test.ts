/** `troupe dev` at a terminal: the first start opens the page on the actors. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { opensPage } from '../../../cli/project/dev.ts';
import { ensureBuilt } from '../../../tools/build.mjs';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';

ensureBuilt();
const root = join(import.meta.dirname, '../../..');

it('opens nothing with --no-open, with CI set, or without a terminal', () => {
  expect(opensPage({}, { isTerminal: true, env: {} })).toBe(true);
  expect(opensPage({ open: false }, { isTerminal: true, env: {} })).toBe(false);
  expect(opensPage({}, { isTerminal: true, env: { CI: 'true' } })).toBe(false);
  expect(opensPage({}, { isTerminal: false, env: {} })).toBe(false);
});

const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

it.skipIf(!hasTerminal)('opens the page of the program at a terminal, signed in', async () => {
  const folder = scratchFolder();
  const opened = join(folder, 'opened');
  const browser = write(folder, 'bin/xdg-open', `#!/bin/sh\necho "$1" >> '${opened}'\n`);
  chmodSync(browser, 0o755);
  write(folder, 'package.json', '{ "type": "module" }');
  write(folder, 'node_modules/.keep', '');
  symlinkSync(root, join(folder, 'node_modules/troupe'));
  const main = write(
    folder,
    'main.js',
    `import { startTroupe } from 'troupe/agents';\nawait startTroupe({ data: 'data', port: 0 });\n`,
  );
  const command = `exec ${process.execPath} ${join(root, 'bin/troupe.js')} dev ${main}`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: folder,
    env: { HOME: folder, PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH']}` },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void terminal.kill('SIGTERM'));
  const openedUrl = () => (existsSync(opened) ? readFileSync(opened, 'utf8').trim() : '');
  // the shell makes the file before it writes it
  await eventually(() => expect(openedUrl()).not.toBe(''), 60_000);
  const url = openedUrl();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}&view=actors$/);
  expect((await fetch(url)).status).toBe(200);
  // Ctrl-C
  const ended = new Promise((resolve) => terminal.once('exit', resolve));
  terminal.stdin.write('\u0003');
  await ended;
});

// Bug hunted: npm that was killed left a program behind, which kept its port.
it('ends with the process that started it', async () => {
  const folder = scratchFolder();
  write(folder, 'package.json', '{ "type": "module" }');
  write(folder, 'node_modules/.keep', '');
  symlinkSync(root, join(folder, 'node_modules/troupe'));
  const text = `import { startTroupe } from 'troupe/agents';\nawait startTroupe({ data: 'data', port: 0 });\n`;
  const main = write(folder, 'main.js', text);
  const command = `${process.execPath} ${join(root, 'bin/troupe.js')} dev ${main} & wait`;
  const env = { HOME: folder, PATH: process.env['PATH'] };
  const parent = spawn('sh', ['-c', command], { cwd: folder, env, stdio: 'ignore' });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const running = join(folder, 'data', 'gateway.json');
  await eventually(() => expect(existsSync(running)).toBe(true), 60_000);
  const { pid } = JSON.parse(readFileSync(running, 'utf8')) as { pid: number };
  onTestFailed(() => void process.kill(pid, 'SIGKILL'));
  parent.kill('SIGKILL');
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/), 30_000);
}, 120_000);
