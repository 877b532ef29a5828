/**
 * Two gateway processes behind one address and a worker, on a real NATS server. kill -9 of the
 * client's gateway in the middle of a run. The client reconnects through the same address and
 * continues the run at the other gateway.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { type Address, ReceivedText, oneAddress } from './gateways.ts';
import { TOKEN } from './program.ts';
import { describeWithNats, TestCluster } from './test-cluster.ts';

const MAIN = 'agent:main:main';
/** The answer takes about eight seconds. */
const LONG = 'Tell me something. [[words:80]] [[pace:10]]';

const cluster = new TestCluster('{ cluster: { shards: 8 } }');
const clients: GatewayClient[] = [];
let address: Address;

const connectClient = async (url: string): Promise<GatewayClient> => {
  const client = await connectOperator({
    url,
    token: TOKEN,
    backoffMs: { first: 50, most: 500 },
  });
  clients.push(client);
  return client;
};

const bootOf = (client: GatewayClient): string | undefined =>
  client.state.kind === 'open' ? client.state.hello.server.bootId : undefined;

afterAll(() => {
  for (const client of clients) client.close();
  address?.close();
});

describeWithNats('two gateways behind one address', () => {
  beforeAll(async () => {
    await cluster.start(['worker'], ['one', 'two']);
    address = await oneAddress(['one', 'two'].map((name) => portOf(cluster.urlOf(name))));
  }, 120_000);

  test('continue a run, and lose none of its text, when the gateway of a client is killed', {
    timeout: 120_000,
  }, async () => {
    const other = await connectClient(cluster.urlOf('two'));
    const client = await connectClient(address.url);
    const message = { sessionKey: MAIN, message: LONG, idempotencyKey: 'run-of-two' };
    const command = { sessionKey: MAIN, message: '/new', idempotencyKey: 'command-of-two' };
    await client.request('chat.send', { ...message, message: 'Hi.', idempotencyKey: 'before' });
    await client.request('agent.wait', { runId: 'before', timeoutMs: 30_000 });
    const answered = chatEnd(client, command.idempotencyKey);
    await client.request('chat.send', command);
    expect(await answered).toContain('Started a new conversation');
    const firstId = await sessionId(other);

    const boot = bootOf(client);
    const before = new ReceivedText(client, message.idempotencyKey);
    const first = client.request('agent', message, { expectFinal: true });
    const failed = first.catch((error: unknown) => error);
    await until(() => before.text.split(' ').length > 8);
    await until(async () => (await hosts(other)) === 2);
    await cluster.kill('one');
    expect(await failed).toMatchObject({ code: 'UNAVAILABLE' });
    await until(() => client.state.kind === 'open' && bootOf(client) !== boot);

    // The other gateway receives the same command and key: no second conversation starts.
    const again = chatEnd(client, command.idempotencyKey);
    await client.request('chat.send', command);
    expect(await again).toContain('Started a new conversation');
    expect(await sessionId(client)).toBe(firstId);

    const after = new ReceivedText(client, message.idempotencyKey);
    const history = await client.request('chat.history', { sessionKey: MAIN });
    const { inFlightRun } = history as { inFlightRun?: { runId: string; text: string } };
    expect(inFlightRun?.runId).toBe(message.idempotencyKey);
    after.text = inFlightRun?.text ?? '';
    expect(after.text.startsWith(before.text.slice(0, 20))).toBe(true);
    const second = await client.request('agent', message, { expectFinal: true });
    const { result } = second as { result: { payloads: { text: string }[] } };
    const text = result.payloads[0]!.text;
    expect(text.split(/\s+/).filter(Boolean).length).toBeGreaterThanOrEqual(80);
    await until(() => after.finals === 1);
    expect(after.text).toBe(text);

    const { messages } = await client.request('chat.history', { sessionKey: MAIN });
    const answers = messages as unknown as { role: string; runId?: string }[];
    const mine = answers.filter(({ runId }) => runId === message.idempotencyKey);
    expect(mine.map(({ role }) => role)).toEqual(['user', 'assistant']);
    // Presence of the killed gateway's clients expires; the two connected clients remain.
    await until(async () => (await hosts(other)) === 2);
    client.close();
    await until(async () => (await hosts(other)) === 1);
  });
});

const portOf = (url: string): number => Number(new URL(url).port);

const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => expect(await holds()).toBe(true));

const hosts = async (client: GatewayClient): Promise<number> =>
  (await client.request('system-presence', {})).length;

const sessionId = async (client: GatewayClient) =>
  (await client.request('chat.history', { sessionKey: MAIN })).sessionId;

/** The text of the final answer to a command. */
const chatEnd = (client: GatewayClient, runId: string): Promise<string> =>
  new Promise((resolve) => {
    const off = client.on('chat', (chat) => {
      if (chat.runId !== runId || chat.state !== 'final') return;
      off();
      resolve(JSON.stringify(chat.message));
    });
  });
