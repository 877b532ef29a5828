/** Messages of programs to real agents, with the offline model. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import { basicTools } from '../../../agent/tools/basic/basic-tools.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentAnswer } from '../../../protocols/agent-message.ts';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';

const folder = dataFolder();
let system: System;
const hooks = createHooks({
  modules: [
    {
      name: 'guard',
      hooks: {
        message_received: ({ text, channel, sender }) =>
          text === 'secret' ? { refuse: `not from ${sender} by ${channel}` } : {},
      },
    },
  ],
});
beforeAll(async () => void (system = await openRealSystem(folder.path, 0, basicTools, hooks)));
afterAll(async () => {
  await system.stop();
  folder.remove();
});

let count = 0;
async function send(
  fields: object,
  { sub = 'ada', id = `task${count++}` }: { sub?: string; id?: string } = {},
) {
  const answer = await system.ask(
    address('default', 'agent-message', id),
    {
      type: 'agents.send_message',
      schema_version: '1.0',
      task_id: id,
      agent_id: 'main',
      ...fields,
    },
    { principal: { sub, roles: [] }, timeoutMs: 30_000 },
  );
  if (answer.kind === 'answered') return answer.result as AgentAnswer;
  throw new Error(answer.kind === 'timeout' ? 'no answer' : JSON.stringify(answer.error));
}

test('the answer of the agent is the result', async () => {
  const answer = await send({ message: 'hello' });
  expect(answer.text).not.toBe('');
  expect(answer).toMatchObject({
    run_id: 'task-task0',
    usage: { input_tokens: expect.any(Number) },
  });
});

test('one conversation is one session of a principal; no name is a new one', async () => {
  const keys = [
    await send({ message: 'a', conversation: 'trip' }),
    await send({ message: 'b', conversation: 'trip' }),
    await send({ message: 'c', conversation: 'trip' }, { sub: 'bob' }),
    await send({ message: 'd', task_context: 'trip' }),
    await send({ message: 'e' }),
    await send({ message: 'f' }),
  ].map(({ session_key: key }) => key);
  expect(keys.slice(0, 4)).toEqual([
    'agent:main:api:ada:dm:trip',
    'agent:main:api:ada:dm:trip',
    'agent:main:api:bob:dm:trip',
    'agent:main:api:ada:dm:trip',
  ]);
  expect(new Set(keys).size).toBe(4);
});

test('long and strange names have sessions of their own', async () => {
  const long = 'k'.repeat(128);
  const first = await send({ message: 'a', conversation: long }, { sub: 's'.repeat(256) });
  const second = await send({ message: 'a', conversation: long }, { sub: 's'.repeat(255) });
  expect(first.session_key).not.toBe(second.session_key);
  expect(first.session_key).toMatch(/^agent:main:api:dm:[0-9a-f]{64}$/);
  const slash = [
    await send({ message: 'a', conversation: 'b/c' }, { sub: 'a' }),
    await send({ message: 'a', conversation: 'c' }, { sub: 'a/b' }),
  ];
  expect(slash[0]!.session_key).not.toBe(slash[1]!.session_key);
  const odd = await send({ message: 'a', conversation: 'a:b%\n' });
  expect(odd.session_key).toBe('agent:main:api:ada:dm:a%3Ab%25%0A');
});

test('an unknown agent is refused, and its session is not created', async () => {
  await expect(send({ message: 'a', agent_id: 'none' })).rejects.toThrow(/there is no agent none/);
  const keys = system.index.list('sessions', 'default', { limit: 1_000 }).map(({ key }) => key);
  expect(keys.filter((key) => key.includes('agent:none'))).toEqual([]);
});

test('a hook can refuse the message of a program', async () => {
  await expect(send({ message: 'secret' })).rejects.toThrow(/FORBIDDEN.*not from ada by api/);
});

test('a repeat gets the first answer, and sends nothing', async () => {
  const [first, again] = [
    await send({ message: 'a' }, { id: 'same' }),
    await send({ message: 'a' }, { id: 'same' }),
  ];
  expect(again).toEqual(first);
});
