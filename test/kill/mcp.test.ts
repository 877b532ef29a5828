/**
 * kill -9 of the gateway in the middle of a call: `troupe mcp serve` sends the call again, and it
 * is executed once. With the official client, in both eras.
 */
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from '../../tools/build.mjs';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';

const SLOW = 'conformance__run_slowly-v1';

/** A gateway that can be killed and started again, and a client of `troupe mcp serve`. */
async function opened(
  token: readonly string[],
  options: ClientOptions,
  env: Readonly<Record<string, string>> = {},
) {
  const home = scratchFolder();
  const port = String(await reservePort());
  const start = async () => {
    const program = startProgram(['start', '--json', '--port', port], { home, env });
    await announced(program, 60_000);
    return program;
  };
  let gateway = await start();
  const signed = await runProgram(['token', '--sub', 'ann', ...token], { home });
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...options });
  onTestFinished(() => client.close());
  const serve = ['mcp', 'serve', '--url', `ws://127.0.0.1:${port}`];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bundle, ...serve, '--token', signed.stdout.trim()],
      env: { HOME: home, PATH: process.env['PATH'] ?? '' },
      stderr: 'ignore',
    }),
  );
  return {
    client,
    kill: async (signal: NodeJS.Signals = 'SIGKILL') => {
      gateway.child.kill(signal);
      await gateway.ended;
      gateway = await start();
    },
    listed: async (args: readonly string[]) => {
      const { stdout } = await runProgram([...args, '--json', '--port', port], { home });
      return JSON.parse(stdout);
    },
  };
}

/** Calls, and kills the gateway when the call has reported progress. */
async function callAndKill(
  { client, kill }: Awaited<ReturnType<typeof opened>>,
  params: { readonly name: string; readonly arguments: Record<string, unknown> },
) {
  let isRunning = false;
  const call = client.callTool(params, { onprogress: () => (isRunning = true) });
  await eventually(() => expect(isRunning).toBe(true));
  await kill();
  return call;
}

const AUTO = { versionNegotiation: { mode: 'auto' as const } };

test.each([
  ['2026-07-28', AUTO],
  ['2025-11-25', {}],
])(
  'a call of %s survives the kill of its gateway, and is executed once',
  async (version, options) => {
    const token = ['--tenant', 'conformance', '--roles', 'writer'];
    const gateway = await opened(token, options);
    expect(gateway.client.getNegotiatedProtocolVersion()).toBe(version);
    const called = await callAndKill(gateway, { name: SLOW, arguments: { seconds: 5 } });
    expect(called.structuredContent).toMatchObject({ seconds: 5 });
    const tasks = ['actors', 'list', '--type', 'task', '--tenant', 'conformance'];
    expect((await gateway.listed(tasks)).actors).toHaveLength(1);
  },
  120_000,
);

test('a call survives the stop of its gateway, also without progress, and is executed once', async () => {
  const token = ['--tenant', 'conformance', '--roles', 'writer'];
  const gateway = await opened(token, AUTO);
  const call = (seconds: number, options = {}) =>
    gateway.client.callTool({ name: SLOW, arguments: { seconds } }, options);
  let isRunning = false;
  const calls = [call(5), call(6, { onprogress: () => (isRunning = true) })];
  await eventually(() => expect(isRunning).toBe(true));
  await gateway.kill('SIGTERM');
  for (const [at, { structuredContent }] of (await Promise.all(calls)).entries())
    expect(structuredContent).toMatchObject({ seconds: 5 + at });
  const tasks = ['actors', 'list', '--type', 'task', '--tenant', 'conformance'];
  expect((await gateway.listed(tasks)).actors).toHaveLength(2);
}, 120_000);

test('a message to an agent survives the kill of its gateway, and is answered once', async () => {
  const pace = { TROUPE_OFFLINE_TOKENS_PER_SECOND: '5' };
  const gateway = await opened(['--roles', 'operator'], AUTO, pace);
  const args = { schema_version: '1.0', agent_id: 'main', message: 'hello', conversation: 'one' };
  const called = await callAndKill(gateway, { name: 'agents__send_message-v1', arguments: args });
  expect(called.structuredContent).toMatchObject({ session_key: 'agent:main:api:ann:dm:one' });
  expect(called.structuredContent).toHaveProperty('text', expect.stringMatching(/\S/));
  const { runs } = await gateway.listed(['runs', 'list']);
  expect(runs).toHaveLength(1);
}, 120_000);
