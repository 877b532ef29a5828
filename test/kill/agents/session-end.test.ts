/**
 * kill -9 while the `session_end` hook of a session runs. The hook is called again after the
 * restart and completes once, and messages sent meanwhile are answered in the next session.
 */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { runAgent } from '../../../cli/chat/run-agent.ts';
import { eventually } from '../../runtime/eventually.ts';
import { linesOf } from '../bundled-program.ts';
import { TestProgram } from '../test-program.ts';

const program = new TestProgram();
const file = join(program.data, 'seen.txt');
const released = join(program.data, 'released');

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
const lines = (kind: string): readonly string[] =>
  linesOf(program.data, 'seen.txt').filter((line) => line.startsWith(`${kind} `));
const chat = async (client: GatewayClient, runId: string) => {
  const message = { message: '[[pace:0]] hello', runId, sessionKey: 'agent:main:main' };
  expect(await runAgent(client, message)).toMatchObject({ status: 'ok' });
};

test('the session_end hook runs although the process is killed in its first call', {
  timeout: 120_000,
}, async () => {
  mkdirSync(join(program.data, 'hooks'), { recursive: true });
  writeFileSync(join(program.data, 'hooks', 'witness.mjs'), HOOK);
  await program.start();
  const client = await program.connect();
  await chat(client, 'first');
  await client.request('sessions.reset', { key: 'agent:main:main' });
  await eventually(() => expect(lines('called')).toHaveLength(1));
  await program.kill();
  expect(lines('end')).toEqual([]);

  appendFileSync(released, '');
  await program.start();
  const again = await program.connect();
  await eventually(() => expect(lines('end')).toHaveLength(1));
  await chat(again, 'second');
  await chat(again, 'third');
  const [first, second] = lines('start').map((line) => line.slice('start '.length));
  expect(lines('start')).toHaveLength(2);
  expect(second).not.toBe(first);
  expect(lines('end')).toEqual([`end ${first}`]);
});
