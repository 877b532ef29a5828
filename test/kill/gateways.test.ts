/**
 * Two gateways and a worker as processes on real NATS, behind one address. kill -9 of the gateway
 * that a client is connected to, in the middle of a run: the client comes back through the same
 * address and finds everything at the other gateway.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../../cli/client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { type Address, HeardText, oneAddress } from './gateways.ts';
import { freePort, kill, type Program, startGateway, startWorker, TOKEN } from './program.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-kill-gateways-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const MAIN = 'agent:main:main';
/** About eight seconds of words. */
const LONG = 'Tell me something. [[words:80]] [[pace:10]]';

const running: Program[] = [];
const clients: GatewayClient[] = [];
let nats: NatsServer | undefined;
let address: Address;
let gateways: readonly [Program, Program];

function folderOf(name: string): string {
  const folder = join(data, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'troupe.json5'), '{ cluster: { shards: 8 } }');
  return folder;
}

const comeTo = async (url: string): Promise<GatewayClient> => {
  const client = await GatewayClient.connect({
    url,
    token: TOKEN,
    backoffMs: { first: 50, most: 500 },
  });
  clients.push(client);
  return client;
};

const bootOf = (client: GatewayClient): string | undefined =>
  client.state.kind === 'open' ? client.state.hello.server.bootId : undefined;

beforeAll(async () => {
  if (!server) return;
  nats = await startNats({ path: server.path });
  running.push(await startWorker(folderOf('worker'), 'worker', nats.url));
  const ports = [await freePort(), await freePort()] as const;
  gateways = [
    await startGateway(folderOf('one'), ports[0], nats.url, 'one'),
    await startGateway(folderOf('two'), ports[1], nats.url, 'two'),
  ];
  running.push(...gateways);
  address = await oneAddress([...ports]);
}, 120_000);

afterAll(async () => {
  for (const client of clients) client.close();
  address?.close();
  await Promise.all(running.map(kill));
  await nats?.stop();
  rmSync(data, { recursive: true, force: true });
});

describe.skipIf(!server)(`two gateways behind one address${leftOut}`, () => {
  test('the death of the one that a client is connected to ends no run and loses no word', {
    timeout: 120_000,
  }, async () => {
    const stayer = await comeTo(gateways[1].url);
    const client = await comeTo(address.url);
    const message = { sessionKey: MAIN, message: LONG, idempotencyKey: 'run-of-two' };
    const command = { sessionKey: MAIN, message: '/new', idempotencyKey: 'command-of-two' };
    await client.request('chat.send', { ...message, message: 'Hi.', idempotencyKey: 'before' });
    await client.request('agent.wait', { runId: 'before', timeoutMs: 30_000 });
    const answered = chatEnd(client, command.idempotencyKey);
    await client.request('chat.send', command);
    expect(await answered).toContain('A new conversation has begun');
    const firstId = await sessionId(stayer);

    const boot = bootOf(client);
    const before = new HeardText(client, message.idempotencyKey);
    const first = client.request('agent', message, { expectFinal: true });
    const failed = first.catch((error: unknown) => error);
    await until(() => before.text.split(' ').length > 8);
    await until(async () => (await hosts(stayer)) === 2);
    await kill(gateways[0]);
    expect(await failed).toMatchObject({ code: 'UNAVAILABLE' });
    await until(() => client.state.kind === 'open' && bootOf(client) !== boot);

    // The command again, by its key, to the gateway that never saw it: nothing is begun anew twice.
    const again = chatEnd(client, command.idempotencyKey);
    await client.request('chat.send', command);
    expect(await again).toContain('A new conversation has begun');
    expect(await sessionId(client)).toBe(firstId);

    const after = new HeardText(client, message.idempotencyKey);
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
    // The dead gateway's clients are forgotten; this one and the one that stayed are there.
    await until(async () => (await hosts(stayer)) === 2);
    client.close();
    await until(async () => (await hosts(stayer)) === 1);
  });
});

const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => expect(await holds()).toBe(true));

const hosts = async (client: GatewayClient): Promise<number> =>
  (await client.request('system-presence', {})).length;

const sessionId = async (client: GatewayClient) =>
  (await client.request('chat.history', { sessionKey: MAIN })).sessionId;

/** The text that a command is answered with. */
const chatEnd = (client: GatewayClient, runId: string): Promise<string> =>
  new Promise((resolve) => {
    const off = client.on('chat', (chat) => {
      if (chat.runId !== runId || chat.state !== 'final') return;
      off();
      resolve(JSON.stringify(chat.message));
    });
  });
