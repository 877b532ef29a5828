/**
 * kill -9 of the gateway in the middle of a call: `troupe mcp serve` sends the call again, and it
 * is executed once. With the official client, in both eras.
 */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from '../../tools/build.mjs';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';

const SLOW = 'conformance__run_slowly-v1';

test.each([
  ['2026-07-28', { versionNegotiation: { mode: 'auto' as const } }],
  ['2025-11-25', {}],
])(
  'a call of %s survives the kill of its gateway, and is executed once',
  async (version, options) => {
    const home = scratchFolder();
    const port = await reservePort();
    const start = async () => {
      const program = startProgram(['start', '--json', '--port', String(port)], { home });
      await announced(program, 60_000);
      return program;
    };
    const gateway = await start();
    const signed = await runProgram(
      ['token', '--tenant', 'conformance', '--sub', 'ann', '--roles', 'writer'],
      { home },
    );
    const url = `ws://127.0.0.1:${port}`;
    const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...options });
    onTestFinished(() => client.close());
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bundle, 'mcp', 'serve', '--url', url, '--token', signed.stdout.trim()],
        env: { HOME: home, PATH: process.env['PATH'] ?? '' },
        stderr: 'ignore',
      }),
    );
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    let isRunning = false;
    const slow = client.callTool(
      { name: SLOW, arguments: { seconds: 5 } },
      { onprogress: () => (isRunning = true) },
    );
    await eventually(() => expect(isRunning).toBe(true));
    gateway.child.kill('SIGKILL');
    await gateway.ended;
    await start();
    expect((await slow).structuredContent).toMatchObject({ seconds: 5 });
    const tasks = ['actors', 'list', '--type', 'task', '--tenant', 'conformance'];
    const listed = await runProgram([...tasks, '--json', '--port', String(port)], { home });
    expect(JSON.parse(listed.stdout).actors).toHaveLength(1);
  },
  120_000,
);
