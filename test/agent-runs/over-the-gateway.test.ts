/**
 * What a user with a plain WebSocket client sees of a run: deltas that make up the answer, the
 * approval of a command, one final event, and the same over another connection.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Client, connected, type Frame, MAIN } from '../channels/gateway/client.ts';
import { startModelServer } from '../servers/model-server.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { install, MODELS, providerOf } from './installation.ts';

const API = 'anthropic-messages';

const opened = async () => {
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: { models: { providers: { p: providerOf(API, server) } } },
  });
  return { server, troupe, client: await enter(troupe) };
};

/** Every received frame is validated with the published protocol package. */
const enter = async (troupe: { url: string }): Promise<Client> => {
  const client = await connected(troupe, {
    scopes: ['operator.admin', 'operator.read', 'operator.write', 'operator.approvals'],
  });
  onTestFinished(async () => {
    await client.close();
    expect(client.complaints).toEqual([]);
  });
  return client;
};

const runs = (command: string): Plan => ({
  kind: 'answer',
  deltas: ['I run it. '],
  calls: [{ id: 'call_1', name: 'exec', args: { command } }],
});
const says = (...deltas: string[]): Plan => ({ kind: 'answer', deltas });

const send = async (client: Client, message: string, idempotencyKey: string) => {
  const answer = await client.call('chat.send', { sessionKey: MAIN, message, idempotencyKey });
  expect(answer.error).toBeUndefined();
};
const ended = (client: Client, runId: string): Promise<Frame> =>
  client.frame(({ event, payload }) => {
    return event === 'chat' && payload.runId === runId && payload.state !== 'delta';
  });
const textOf = ({ payload }: Frame): string => payload.message.content[0].text as string;

it('a command waits for its approval, runs after it, and needs no second one', async () => {
  const { server, troupe, client } = await opened();
  const other = await enter(troupe);
  const command = 'touch made-on-the-host.txt';
  server.script(runs(command), says('It is ', 'made.'), runs(command), says('Again.'));

  await send(client, 'make the file', 'r1');
  const asked = await other.frame(({ event }) => event === 'exec.approval.requested');
  expect(asked.payload.request).toMatchObject({ command });
  const file = join(troupe.workspace(), 'made-on-the-host.txt');
  expect(existsSync(file)).toBe(false);
  const { id } = asked.payload as { id: string };
  const word = await other.call('exec.approval.resolve', { id, decision: 'allow-always' });
  expect(word.payload).toEqual({ ok: true });

  const final = await ended(client, 'r1');
  expect(final.payload).toMatchObject({ state: 'final', stopReason: 'stop' });
  expect(textOf(final)).toBe('It is made.');
  expect(existsSync(file)).toBe(true);

  await send(client, 'once more', 'r2');
  expect(textOf(await ended(client, 'r2'))).toBe('Again.');
  expect(client.events('exec.approval.requested')).toHaveLength(1);
  expect(JSON.stringify(server.requests[0]?.body)).toContain('the folder that commands begin in');
  for (const runId of ['r1', 'r2']) {
    const finals = client
      .events('chat')
      .filter(({ payload }) => payload.runId === runId && payload.state !== 'delta');
    expect(finals, 'one reply').toHaveLength(1);
  }
});

it('a denied command does not run, and the model reads who denied it', async () => {
  const { server, troupe, client } = await opened();
  server.script(runs('touch never.txt'), says('Then I leave it.'));
  await send(client, 'make the file', 'r1');
  const { payload } = await client.frame(({ event }) => event === 'exec.approval.requested');
  await client.call('exec.approval.resolve', { id: payload.id, decision: 'deny' });
  expect(textOf(await ended(client, 'r1'))).toBe('Then I leave it.');
  expect(existsSync(join(troupe.workspace(), 'never.txt'))).toBe(false);
  expect(JSON.stringify(server.requests[1]?.body)).toMatch(/Not run: \S+ denied it/);
});

it('a stream that is cut and repeated is published as one answer', async () => {
  const { server, client } = await opened();
  server.script(
    { kind: 'cut', deltas: ['Something else ', 'and much longer than what comes'] },
    says('The actor ', 'reads ', 'mail.'),
  );
  await send(client, 'what is it?', 'r1');
  const final = await ended(client, 'r1');
  expect(textOf(final)).toBe('The actor reads mail.');
  let text = '';
  for (const { payload } of client.events('chat')) {
    if (payload.state !== 'delta') continue;
    text = payload.replace ? payload.deltaText : text + payload.deltaText;
  }
  expect(text).toBe('The actor reads mail.');
  const agent = client.events('agent').map(({ payload }) => payload);
  const lifecycle = agent.filter(({ stream }) => stream === 'lifecycle');
  expect(lifecycle.map(({ data }) => data.phase)).toEqual(['start', 'end']);

  const late = await connected({ url: client.ws.url.replace(/^ws/, 'http') });
  onTestFinished(() => late.close());
  const history = await late.call('chat.history', { sessionKey: MAIN });
  const roles = history.payload.messages.map(({ role }: { role: string }) => role);
  expect(roles).toEqual(['user', 'assistant']);
  expect(JSON.stringify(history.payload)).toContain(MODELS[API]);
});
