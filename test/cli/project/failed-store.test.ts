/** A program whose store failed ends with exit code 1 and the reason, as `troupe start` does. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { templateFiles } from '../../../cli/project/template.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { startProgram } from '../program.ts';

const root = join(import.meta.dirname, '../../..');

/** After SIGUSR2 no frame can be written to the log, and none can be undone. */
const BREAKS = `
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
const folder = '/proc/self/fd';
const targetOf = (name) => {
  try {
    return readlinkSync(folder + '/' + name);
  } catch {
    return '';
  }
};
process.once('SIGUSR2', () => {
  for (const name of readdirSync(folder))
    if (targetOf(name).endsWith('.wal')) closeSync(Number(name));
});
`;
const WITHOUT_HANDLER = `
import { startTroupe } from 'troupe/agents';
await startTroupe({ data: 'data', port: 0 });
`;

function project(): string {
  const folder = scratchFolder();
  const options = { name: 'p', language: 'javascript', dependencies: {}, devDependencies: {} };
  const files = templateFiles({ ...options, language: 'javascript' });
  for (const [path, text] of Object.entries(files))
    write(folder, path, path === 'src/main.js' ? text.replace('18_790', '0') : text);
  write(folder, 'src/breaks.js', BREAKS);
  write(folder, 'src/without-handler.js', `import './breaks.js';${WITHOUT_HANDLER}`);
  write(folder, 'node_modules/@sinclair/.keep', '');
  symlinkSync(root, join(folder, 'node_modules/troupe'));
  for (const name of ['xstate', '@sinclair/typebox'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return folder;
}

it.skipIf(process.platform !== 'linux').each([
  ['of troupe init', ['--import', './src/breaks.js', 'src/main.js']],
  ['that troupe dev runs', [join(root, 'bin/troupe.js'), 'dev', 'src/without-handler.js']],
])('a program %s', async (_, args) => {
  const folder = project();
  const env = { HOME: folder, PATH: process.env['PATH'], NO_COLOR: '1' };
  const child = spawn(process.execPath, args, { cwd: folder, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const running = join(folder, 'data', 'gateway.json');
  await eventually(() => expect(existsSync(running)).toBe(true), 60_000);
  const { pid } = JSON.parse(readFileSync(running, 'utf8')) as { pid: number };
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  process.kill(pid, 'SIGUSR2');
  startProgram(['agent', '-m', 'hello', '--data', join(folder, 'data')]);
  expect(await ended).toBe(1);
  expect(errors).toMatch(/^(troupe: )?the store failed and must be restarted/m);
  expect(errors).not.toContain('waits for a change');
  expect(isAlive(pid)).toBe(false);
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
