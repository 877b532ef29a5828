/**
 * One conversation over several providers, keys, images and messages that the agent sends itself,
 * over their real SDKs. Each provider accepts what another one wrote, and no message is sent twice.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startAnthropicServer } from '../servers/anthropic-server.ts';
import { type ServedApi, startModelServer } from '../servers/model-server.ts';
import type { Plan, ScriptedServer } from '../servers/scripted-server.ts';
import { install, MODELS, providerOf } from './installation.ts';

const APIS = Object.keys(MODELS) as ServedApi[];
const MAIN = 'agent:main:main';

const served = async (api: ServedApi): Promise<ScriptedServer> => {
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  return server;
};
const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });
const wants = (...calls: { id: string; name: string; args: object }[]): Plan => ({
  kind: 'answer',
  reasoning: ['so ', 'then'],
  deltas: ['I look. '],
  calls,
});
/** The smallest valid PNG. */
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it('moves between providers with all its reasoning, calls and results', async () => {
  const servers = await Promise.all(APIS.map(served));
  const entries = APIS.map((api, at) => [`p${at}`, providerOf(api, servers[at]!)]);
  const troupe = await install({
    config: {
      models: { providers: Object.fromEntries(entries) },
      agents: { defaults: { thinkingLevel: 'high' } },
    },
  });
  for (let round = 0; round < 2 * APIS.length; round++) {
    const at = round % APIS.length;
    const calls = [1, 2].map((n) => ({
      // Anthropic and OpenAI never use an id twice; servers of open models count from the start
      // each time
      id: at < 2 ? `call_${round}_${n}` : `call_${n}`,
      name: 'calculate',
      args: { expression: `${round}+${n}` },
    }));
    servers[at]!.script(wants(...calls), says(`Answer ${round}.`));
    const model = `p${at}/${MODELS[APIS[at]!]}`;
    const ended = await troupe.run(MAIN, `question ${round}`, { model });
    expect(ended.row).toMatchObject({ status: 'ok', text: `Answer ${round}.`, model });
    expect(ended.results.map(({ result }) => result)).toEqual([`${round + 1}`, `${round + 2}`]);
  }
  const last = JSON.stringify(servers.at(-1)!.requests.at(-1)?.body);
  for (let round = 0; round < 2 * APIS.length; round++) expect(last).toContain(`question ${round}`);
});

it.each(APIS)('an image of a user, and one that a tool read, reach %s', async (api) => {
  const server = await served(api);
  const troupe = await install({
    config: { models: { providers: { p: providerOf(api, server) } } },
  });
  writeFileSync(join(troupe.workspace(), 'dot.png'), Buffer.from(DOT, 'base64'));
  const read = { id: 'call_1', name: 'read', args: { path: 'dot.png' } };
  server.script(says('A dot.'), { kind: 'answer', calls: [read] }, says('A dot, too.'));
  const images = [{ mimeType: 'image/png' as const, data: DOT }];
  expect((await troupe.run(MAIN, 'what is it?', { images })).row.text).toBe('A dot.');
  expect(JSON.stringify(server.requests[0]?.body)).toContain(DOT);
  const ended = await troupe.run(MAIN, 'and in dot.png?');
  expect(ended.row).toMatchObject({ status: 'ok', text: 'A dot, too.' });
  expect(ended.results).toMatchObject([{ isError: false, images: [{ mimeType: 'image/png' }] }]);
  const shown = JSON.stringify(server.requests[2]?.body).split(DOT).length - 1;
  expect(shown).toBe(2);
});

it('text of the message tool is in the conversation, and the reply does not repeat it', async () => {
  const server = await served('google-generative-ai');
  const troupe = await install({
    config: { models: { providers: { p: providerOf('google-generative-ai', server) } } },
  });
  const message = { id: 'call_1', name: 'message', args: { text: 'I am on it, Ann!' } };
  server.script({ kind: 'answer', calls: [message] }, says('I am on it,  Ann!'));
  const ended = await troupe.run(MAIN, 'will you?');
  expect(ended.results).toMatchObject([{ isError: false, sent: [{ text: 'I am on it, Ann!' }] }]);
  expect(ended.row).toMatchObject({ status: 'ok', text: '', messages: 1 });
  expect(ended.events.filter(({ stream }) => stream === 'message')).toMatchObject([
    { text: 'I am on it, Ann!' },
  ]);
});

it('a refused key is replaced by the next one and not tried again', async () => {
  const server = await startAnthropicServer({ apiKey: 'the-good-key' });
  onTestFinished(() => server.close());
  const entry = {
    ...providerOf('anthropic-messages', server),
    apiKey: 'the-bad-key',
    profiles: [{ id: 'second', apiKey: 'the-good-key' }],
  };
  const troupe = await install({ config: { models: { providers: { p: entry } } } });
  server.otherwise(says('Yes.'));
  for (const n of [1, 2]) {
    const ended = await troupe.run(MAIN, `are you there? ${n}`);
    expect(ended.row).toMatchObject({ status: 'ok', text: 'Yes.' });
    expect(JSON.stringify(ended)).not.toMatch(/the-(good|bad)-key/);
  }
  expect(server.requests).toHaveLength(3);
});

it('an exhausted daily token budget stops the next run before any model request', async () => {
  const server = await served('openai-responses');
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf('openai-responses', server) } },
      agents: { defaults: { tokensPerDay: 20 } },
    },
  });
  server.otherwise(says('Yes.'));
  for (const n of [1, 2])
    expect((await troupe.run(MAIN, `question ${n}`)).row).toMatchObject({ status: 'ok' });
  const runId = await troupe.send('agent:main:other', 'question 3');
  const row = await troupe.rowAtEnd(runId);
  expect(row).toMatchObject({ status: 'error', error: { code: 'RATE_LIMIT_EXCEEDED' } });
  expect(row.text).toContain('tokensPerDay');
  expect(server.requests).toHaveLength(2);
});
