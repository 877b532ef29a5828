/** User errors: each prints one clear sentence and its exit code, never a stack. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bundle } from '../../tools/build.mjs';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type Ended, runProgram, startProgram } from './program.ts';

const isLinux = process.platform === 'linux';

/** One line on stderr that starts with `troupe:` or `error:`, and no stack. */
function expectOneSentence({ stderr, stdout }: Ended): void {
  expect(stdout).toBe('');
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toMatch(/^(troupe|error): /);
  expect(stderr).not.toMatch(/internal error|\n {4}at /);
}

it('a whole tenant is not erased without a confirmation', async () => {
  const gateway = ['--url', `ws://127.0.0.1:${await reservePort()}`];
  const erase = (...more: string[]) =>
    runProgram(['erase', 'tenant', 'default', ...gateway, ...more]);
  const refused = await erase();
  expectOneSentence(refused);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('use --yes') });
  // Nothing listens there.
  for (const option of ['--yes', '--dry-run']) expect((await erase(option)).code).toBe(3);
});

describe('a folder that cannot be used', () => {
  const file = write(scratchFile(), 'a-file', 'text');

  it.for([
    ['start', '--data', file],
    ['worker', '--nats', 'nats://127.0.0.1:1', '--data', file],
    ['gateway', '--nats', 'nats://127.0.0.1:1', '--data', file],
    ['sdk', 'python', '--out', file],
    ['charts', 'export', '--out', file],
    ['start', '--data', `${file}/below`],
  ])('%j reports that it is a file', async (args) => {
    const ended = await runProgram(args);
    expectOneSentence(ended);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(file) });
    expect(ended.stderr).toContain('it is a file');
  });

  it.skipIf(!isLinux).for([
    ['start', '--data', '/proc/troupe-test'],
    ['start', '--data', '/proc/troupe-test/below'],
    ['sdk', 'python', '--out', '/proc/troupe-test'],
    ['charts', 'export', '--out', '/proc/troupe-test'],
    ['init', '/proc/troupe-test'],
  ])('%j exits instead of retrying forever', async (args) => {
    const ended = await runProgram(args);
    expectOneSentence(ended);
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain('the folder /proc/troupe-test cannot be used: ENOENT');
  });

  it.skipIf(!isLinux)('a service is not installed below a folder that cannot be made', async () => {
    const ended = await runProgram(['service', 'install', '--no-start'], {
      env: { XDG_CONFIG_HOME: '/proc/troupe-test' },
    });
    expectOneSentence(ended);
    expect(ended.stderr).toContain('/proc/troupe-test cannot be used: ENOENT');
  });
});

function scratchFile(): string {
  return process.env['TMPDIR'] ?? '/tmp';
}

it.skipIf(!isLinux)('a low limit of open files is reported with the remedy', async () => {
  const start = `ulimit -n 64; exec "$0" "$1" start --port 0 --data "$2"`;
  const args = ['-c', start, process.execPath, bundle, scratchFolder()];
  const child = spawn('bash', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(1);
  expect(stderr).toMatch(/^troupe: .*ulimit -n 4096\n$/);
});

it.for(['nonsense', 'ftp://127.0.0.1', 'http//x'])('--url %s is refused', async (url) => {
  const ended = await runProgram(['sessions', '--url', url]);
  expectOneSentence(ended);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('URL of a gateway') });
});

it.for(['approvals', 'devices', 'nodes', 'subagents', 'conversations'])(
  'troupe %s lists its commands for an unknown one',
  async (group) => {
    const ended = await runProgram([group, 'allow', 'X']);
    expectOneSentence(ended);
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain(`troupe ${group} has no command 'allow'; it has list, `);
  },
);

it('a file that is not an image is refused with its name', async () => {
  const ended = await runProgram(['agent', '-m', 'x', '--image', 'README.md']);
  expectOneSentence(ended);
  expect(ended).toMatchObject({ code: 2 });
  expect(ended.stderr).toContain('--image README.md: it is not an image; send PNG, JPEG');
});

it('help shows the options of a command and their choices', async () => {
  const [prompt, workspace, answer] = await Promise.all([
    runProgram(['agent', 'prompt', '--help']),
    runProgram(['agent', 'workspace', '--help']),
    runProgram(['approvals', 'answer', '--help']),
  ]);
  for (const option of ['--agent <id>', '--session <key>', '--explain', '--json', '--data <dir>'])
    expect(prompt.stdout).toContain(option);
  for (const option of ['--agent <id>', '--json', '--data <dir>'])
    expect(workspace.stdout).toContain(option);
  expect(answer.stdout).toMatch(/allow-once[^]*\$ troupe approvals answer \S+ allow-once\n/);
  const ended = await runProgram(['approvals', 'answer', 'X', 'deny', '--port', '1']);
  expect(ended.stderr).not.toContain('--why');
});

it('a failed run prints its error once', async () => {
  const server = createServer((_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"error": {"message": "no such key"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const home = scratchFolder();
  const models = [{ id: 'm1' }];
  const own = { api: 'openai-completions', baseUrl, apiKey: 'wrong', models };
  const config = { models: { providers: { own } }, log: { level: 'error' } };
  write(home, join('.troupe', 'troupe.json5'), JSON.stringify(config));
  const port = String(await reservePort());
  const program = startProgram(['start', '--port', port], { home });
  await eventually(() => expect(program.stdout).toContain('is ready'));
  const ended = await runProgram(['agent', '-m', 'hello', '--port', port], { home });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('own');
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
});

it('prints a wrong option as JSON with --json, too', async () => {
  const ended = await runProgram(['sessions', '--json', '--nope']);
  expect(ended.code).toBe(2);
  expect(JSON.parse(ended.stdout)).toEqual({
    error: { code: 'INVALID_ARGUMENT', message: "unknown option '--nope'" },
  });
});
