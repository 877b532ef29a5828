/**
 * kill -9 of the running program while an agent outside works for one of its agents (A2A): the same
 * task is followed, and the message is sent once. And before the answer to the message: it is sent
 * again under the same id where the agent outside deduplicates, and otherwise reported as unknown.
 */
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import type { Message } from '@a2a-js/sdk';
import { eventually } from '../runtime/eventually.ts';
import { startA2aAgent } from '../servers/a2a-agent.ts';
import { write } from '../runtime/config/folder.ts';
import { TestProgram } from './test-program.ts';

const program = new TestProgram();

/** Messages that agents got and did not answer. */
const unanswered: Message[] = [];
let answers = true;

const silent = (request: IncomingMessage, _: unknown, body: string): boolean => {
  if (answers || request.method !== 'POST') return false;
  const { params } = JSON.parse(body) as { params: { message: Message } };
  unanswered.push(params.message);
  return true;
};

const ask = async (runId: string, agent: string, message: string): Promise<string> => {
  const text = `call a2a_send ${JSON.stringify({ agent, message })}`;
  const sessionKey = `agent:main:${runId}`;
  const params = { message: text, sessionKey, idempotencyKey: runId };
  const client = await program.connect();
  return JSON.stringify(await client.request('agent', params, { expectFinal: true }));
};

const restart = async () => {
  await program.kill();
  await program.start();
};

test('a task of an agent outside is followed across kills', { timeout: 180_000 }, async () => {
  const weather = await startA2aAgent({ intercept: silent });
  const { url } = weather;
  const agents = {
    weather: { url, allowPrivate: true, approval: 'never' },
    careful: { url, allowPrivate: true, approval: 'never', deduplicates: true },
  };
  const config = {
    agents: { defaults: { sandbox: { mode: 'none' } } },
    tools: { a2a: { agents } },
  };
  write(program.data, 'troupe.json5', JSON.stringify(config));
  await program.start();

  const first = ask('followed', 'weather', 'work').catch(() => 'cut');
  const polls = () => weather.requests.filter(({ path }) => path === '/rpc').length - 1;
  await eventually(() => expect(polls()).toBeGreaterThan(0), 60_000);
  await restart();
  expect(await first).toBe('cut');
  const before = polls();
  await eventually(() => expect(polls()).toBeGreaterThan(before), 60_000);
  await restart();
  weather.finish('sunny');
  expect(await ask('followed', 'weather', 'work')).toContain('sunny');
  expect(weather.received).toHaveLength(1);

  answers = false;
  const lost = ask('lost', 'weather', 'say hello').catch(() => 'cut');
  await eventually(() => expect(unanswered).toHaveLength(1), 60_000);
  await program.kill();
  await lost;
  answers = true;
  await program.start();
  expect(await ask('lost', 'weather', 'say hello')).toContain('Unknown: ');
  expect(weather.received).toHaveLength(1);

  answers = false;
  const repeated = ask('repeated', 'careful', 'say hello').catch(() => 'cut');
  await eventually(() => expect(unanswered).toHaveLength(2), 60_000);
  await program.kill();
  await repeated;
  answers = true;
  await program.start();
  expect(await ask('repeated', 'careful', 'say hello')).toContain('hello');
  expect(weather.received).toHaveLength(2);
  expect(weather.received[1]!.messageId).toBe(unanswered[1]!.messageId);
});
