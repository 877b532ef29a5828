/**
 * kill -9 while hooks learn that a session is over: they learn it after the restart, what was sent
 * meanwhile is answered, and nothing is said of that session again.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import { runAgent } from '../../cli/chat/run-agent.ts';
import { eventually } from '../runtime/eventually.ts';
import { connectTo } from './conversations.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-session-end-'));
const file = join(data, 'seen.txt');
const released = join(data, 'released');
let running: Program | undefined;

afterAll(async () => {
  if (running) await kill(running);
  rmSync(data, { recursive: true, force: true });
});

const HOOK = `
import { appendFileSync, existsSync } from 'node:fs';
const note = (line) => appendFileSync(${JSON.stringify(file)}, line + '\\n');
export default {
  name: 'witness',
  hooks: {
    session_start: ({ sessionId }) => note('start ' + sessionId),
    session_end: async ({ sessionId }, { signal }) => {
      note('called ' + sessionId);
      while (!existsSync(${JSON.stringify(released)}) && !signal.aborted)
        await new Promise((resolve) => setTimeout(resolve, 20));
      if (!signal.aborted) note('end ' + sessionId);
    },
  },
};
`;
const lines = (kind: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(`${kind} `))
    : [];
const talk = async (client: GatewayClient, runId: string) => {
  const message = { message: '[[pace:0]] hello', runId, sessionKey: 'agent:main:main' };
  expect(await runAgent(client, message)).toMatchObject({ status: 'ok' });
};

test('hooks learn the end of a session although the process is killed meanwhile', {
  timeout: 120_000,
}, async () => {
  mkdirSync(join(data, 'hooks'), { recursive: true });
  writeFileSync(join(data, 'hooks', 'witness.mjs'), HOOK);
  const port = await freePort();
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  await talk(client, 'first');
  await client.request('sessions.reset', { key: 'agent:main:main' });
  await eventually(() => expect(lines('called')).toHaveLength(1));
  await kill(running);
  client.close();
  expect(lines('end')).toEqual([]);

  appendFileSync(released, '');
  running = await startProgram(data, port);
  const again = await connectTo(running.url);
  await eventually(() => expect(lines('end')).toHaveLength(1));
  await talk(again, 'second');
  await talk(again, 'third');
  again.close();
  const [first, second] = lines('start').map((line) => line.slice('start '.length));
  expect(lines('start')).toHaveLength(2);
  expect(second).not.toBe(first);
  expect(lines('end')).toEqual([`end ${first}`]);
});
