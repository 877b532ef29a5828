/**
 * A message that the tool `message` sends into its own conversation, as clients and the transcript
 * have it: once, when it is sent, however the run ends.
 */
import { expect, it, onTestFinished } from 'vitest';
import { type Client, connected } from '../channels/gateway/client.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { startModelServer } from '../servers/model-server.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { install, providerOf } from './installation.ts';

const API = 'anthropic-messages';
const DEADLINE = { timeout: 60_000 };

/** A hook that removes a secret from what users receive. */
const HOOK = `export default {
  name: 'redact',
  hooks: {
    message_sending: ({ text, files = [] }) =>
      text.includes('cancel me') || (text.includes('withhold') && files[0]?.name === 'rows.csv')
        ? { cancel: true } : { text: text.replaceAll('s3cret', '***') },
  },
};
`;

const open = async () => {
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const hooks = scratchFolder();
  write(hooks, 'redact.mjs', HOOK);
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf(API, server) } },
      agents: { defaults: { sandbox: { mode: 'none' } } },
      hooks: { folder: hooks },
    },
  });
  const enter = async () => {
    const client = await connected(troupe, {
      scopes: ['operator.admin', 'operator.read', 'operator.write'],
    });
    onTestFinished(async () => {
      await client.close();
      expect(client.complaints).toEqual([]);
    });
    return client;
  };
  return { server, client: await enter(), enter };
};

let calls = 0;
const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });
const sends = (...texts: string[]): Plan => ({
  kind: 'answer',
  calls: texts.map((text) => ({ id: `call_${++calls}`, name: 'message', args: { text } })),
});

const keyOf = (runId: string) => `agent:main:${runId}`;
const send = (client: Client, runId: string) =>
  client.call('chat.send', { sessionKey: keyOf(runId), message: 'go', idempotencyKey: runId });
/** The end event of a run on `chat`; there is exactly one. */
const endOf = async (client: Client, runId: string) => {
  const { payload } = await client.frame(
    ({ event, payload: { runId: of, state } = {} }) =>
      event === 'chat' && of === runId && state !== 'delta',
  );
  return payload;
};
const textOf = (message: { content?: { type: string; text?: string }[] } | undefined): string =>
  (message?.content ?? []).map(({ text = '' }) => text).join('');
/** Texts of complete `chat` events of the session, in order. */
const received = (client: Client, runId: string): string[] =>
  client
    .events('chat')
    .filter(({ payload }) => payload.sessionKey === keyOf(runId) && payload.state !== 'delta')
    .map(({ payload }) => textOf(payload.message));
/** The assistant's messages in `chat.history`. */
const history = async (client: Client, runId: string): Promise<string[]> => {
  const { payload } = await client.call('chat.history', { sessionKey: keyOf(runId), limit: 200 });
  const said = payload.messages.filter(({ role }: { role: string }) => role === 'assistant');
  return said.map(textOf).filter((text: string) => text !== '');
};
const sent = (client: Client, runId: string, text: string) =>
  client.frame(
    ({ event, payload }) =>
      event === 'chat' &&
      payload.sessionKey === keyOf(runId) &&
      payload.state === 'final' &&
      textOf(payload.message) === text,
  );

it('a message appears when it is sent, once for each client, and the reply does not repeat it', {
  ...DEADLINE,
}, async () => {
  const { server, client, enter } = await open();
  let goOn = () => {};
  const until = new Promise<void>((resolve) => (goOn = resolve));
  server.script(sends('Hello Ann!'), { kind: 'answer', deltas: ['Hello Ann!\n\nDone.'], until });
  await client.call('sessions.messages.subscribe', { key: keyOf('live') });
  await send(client, 'live');
  await sent(client, 'live', 'Hello Ann!');

  const late = await enter();
  expect(await history(late, 'live')).toEqual(['Hello Ann!']);
  goOn();
  expect(textOf((await endOf(late, 'live')).message)).toBe('Done.');
  expect(textOf((await endOf(client, 'live')).message)).toBe('Done.');
  expect(received(client, 'live')).toEqual(['Hello Ann!', 'Done.']);
  expect(received(late, 'live')).toEqual(['Done.']);
  expect(await history(late, 'live')).toEqual(['Hello Ann!', 'Done.']);
  const followed = () =>
    client.events('session.message').map(({ payload: { message } }) => message);
  await client.frame(
    ({ event, payload }) => event === 'session.message' && textOf(payload.message) === 'Done.',
  );
  expect(followed().filter((message) => textOf(message) === 'Hello Ann!')).toHaveLength(1);
});

it('without an answer, or with a failed one, the message stays and nothing is added', {
  ...DEADLINE,
}, async () => {
  const { server, client } = await open();
  server.script(sends('Hello Ann!'), says('NO_REPLY'));
  await send(client, 'silent');
  expect(textOf((await endOf(client, 'silent')).message)).toBe('');
  expect(received(client, 'silent')).toEqual(['Hello Ann!', '']);
  expect(await history(client, 'silent')).toEqual(['Hello Ann!']);

  const refused: Plan = { kind: 'refuse', status: 400, type: 'invalid_request_error' };
  server.script(sends('Hello Bob!'), refused);
  await send(client, 'failed');
  const end = await endOf(client, 'failed');
  expect(end).toMatchObject({ state: 'error', errorMessage: expect.stringMatching(/./) });
  expect(textOf(end.message)).not.toContain('Hello Bob!');
  expect(await history(client, 'failed')).toEqual(['Hello Bob!']);
});

it('a message of a stopped run stays, and the end does not repeat it', {
  ...DEADLINE,
}, async () => {
  const { server, client } = await open();
  server.script(sends('Hello Ann!'), { kind: 'silent' });
  await send(client, 'stopped');
  await sent(client, 'stopped', 'Hello Ann!');
  await client.call('chat.abort', { sessionKey: keyOf('stopped'), runId: 'stopped' });
  const end = await endOf(client, 'stopped');
  expect([end.state, textOf(end.message)]).toEqual(['aborted', '']);
  expect(await history(client, 'stopped')).toEqual(['Hello Ann!']);
});

it('25 messages of one run all appear once, whatever ids distinguish them', {
  ...DEADLINE,
}, async () => {
  const { server, client } = await open();
  const texts = Array.from({ length: 21 }, (_, n) => `text number ${n}`);
  texts.push('Balance: 5', 'Balance: -5', '?!', '...');
  server.script(sends(...texts.slice(0, 13)), sends(...texts.slice(13)), says('Balance: 6'));
  const id = client.request('agent', {
    sessionKey: keyOf('many'),
    message: 'go',
    idempotencyKey: 'many',
  });
  const { payload } = await client.frame((frame) => frame.id === id, 2);
  const { payloads, meta } = payload.result;
  expect(payloads.map(({ text }: { text: string }) => text)).toEqual([...texts, 'Balance: 6']);
  expect(meta.messages).toBe(25);
  expect(received(client, 'many')).toEqual([...texts, 'Balance: 6']);
  expect(await history(client, 'many')).toEqual([...texts, 'Balance: 6']);
  const ids = client
    .events('chat')
    .map(({ payload: { runId, state } }) => (state === 'final' ? runId : ''));
  expect(new Set(ids.filter(Boolean)).size).toBe(26);
  // the model reads each text in the call that sent it
  const last = JSON.stringify(server.requests.at(-1)?.body);
  for (const text of texts) expect(last.split(JSON.stringify(text)).length - 1).toBe(1);
});

it('hooks receive a message before clients do, and may change or cancel it', {
  ...DEADLINE,
}, async () => {
  const { server, client } = await open();
  server.script(sends('It is s3cret.', 'cancel me'), says('NO_REPLY'));
  await send(client, 'hooked');
  await endOf(client, 'hooked');
  expect(received(client, 'hooked')).toEqual(['It is ***.', '']);
  expect(await history(client, 'hooked')).toEqual(['It is ***.']);
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('a hook cancelled the message');
});

it('a message with files names them, and hooks learn of them', {
  ...DEADLINE,
}, async () => {
  const { server, client } = await open();
  const call = (name: string, args: object): Plan => ({
    kind: 'answer',
    calls: [{ id: `call_${++calls}`, name, args }],
  });
  const files = ['out/rows.csv'];
  server.script(
    call('write', { path: files[0], content: 'a,b\n' }),
    call('message', { text: 'The rows:', files }),
    call('message', { text: 'withhold files', files }),
    says('Done.'),
  );
  await send(client, 'files');
  await endOf(client, 'files');
  const all = ['The rows:\n\n(file rows.csv, 4 bytes)', 'Done.'];
  expect(received(client, 'files')).toEqual(all);
  expect(await history(client, 'files')).toEqual(all);
  const last = server.requests.at(-1)!;
  expect(JSON.stringify(last.body)).toContain('Not sent: a hook cancelled the message.');
});
