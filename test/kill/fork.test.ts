/**
 * A session with a long conversation is forked, and the process that copies it is killed with
 * SIGKILL in between: alone, and in a cluster whose sessions are in different shards. The request
 * is repeated with its idempotency key: it is one fork, with each entry once.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { address, shardOf } from '../../protocols/address.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { connectTo } from './conversations.ts';
import { kill, type Program, startGateway, startProgram, startWorker } from './program.ts';

const SOURCE = 'agent:main:long';
const NOTES = 700;
const SHARDS = 4;
const KILLS = 4;

const folderOf = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-fork-kill-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, name);
  mkdirSync(data);
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify({ cluster: { shards: SHARDS } }));
  return data;
};

const operate = async <Result>(
  client: GatewayClient,
  name: string,
  params: Readonly<Record<string, unknown>>,
  idempotencyKey?: string,
): Promise<Result> =>
  (await client.request('operations.run', {
    name,
    params,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })) as Result;

/** Writes the conversation. Returns the number of its last turn. */
async function write(client: GatewayClient): Promise<number> {
  const run = { message: 'hello', sessionKey: SOURCE, idempotencyKey: 'first' };
  await client.request('agent', run, { expectFinal: true });
  for (let n = 0; n < NOTES; n += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        client.request('chat.inject', { sessionKey: SOURCE, message: `note ${n + k}` }),
      ),
    );
  const actor = address('default', 'session', SOURCE);
  const { turns } = await operate<{ turns: { turn: number }[] }>(client, 'actors.history', {
    actor,
    limit: 1,
  });
  return turns[0]!.turn;
}

const textsOf = async (client: GatewayClient, sessionKey: string): Promise<string[]> => {
  const { messages } = (await client.request('chat.history', { sessionKey, limit: 1_000 })) as {
    messages: { role: string; content: { text?: string }[] }[];
  };
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ content }) => content.map(({ text }) => text).join());
};

/** Copied entries so far; undefined before the fork exists, Infinity when it is complete. */
async function copiedIn(client: GatewayClient, key: string): Promise<number | undefined> {
  const actor = address('default', 'session', key);
  type View = { state: unknown; context: { fork?: { copied: number } } };
  const view = await operate<View>(client, 'actors.show', { actor, context: true }).catch(() => {});
  if (!view) return undefined;
  return view.context.fork?.copied ?? Number.POSITIVE_INFINITY;
}

type World = {
  readonly client: () => GatewayClient;
  /** Kills what copies the session, and starts it again. */
  readonly killed: (n: number) => Promise<void>;
};

/** Each fork is interrupted when another share of it is copied. Returns the number of sessions. */
async function forkAndKill({ client, killed }: World): Promise<number> {
  const turn = await write(client());
  const texts = await textsOf(client(), SOURCE);
  expect(new Set(texts).size).toBeGreaterThan(NOTES);
  for (let n = 0; n < KILLS; n++) {
    const key = `agent:main:fork-${n}`;
    const fork = () =>
      operate<{ key: string }>(client(), 'sessions.fork', { key: SOURCE, turn, as: key }, `f${n}`);
    void fork().catch(() => {});
    await eventually(async () => {
      expect((await copiedIn(client(), key)) ?? -1).toBeGreaterThanOrEqual(n * 200);
    });
    await killed(n);
    const answer = await eventually(fork);
    expect(answer).toMatchObject({ key, forkedFrom: { key: SOURCE, turn } });
    expect(await fork()).toEqual(answer);
    expect(await textsOf(client(), key)).toEqual(texts);
  }
  const { totalCount } = await operate<{ totalCount: number }>(client(), 'sessions.list', {});
  return totalCount;
}

it('kill -9 while a fork is copied neither loses nor doubles an entry', {
  timeout: 120_000,
}, async () => {
  const data = folderOf('alone');
  const port = await reservePort();
  let program: Program = await startProgram(data, port);
  let client = await connectTo(program.url);
  onTestFinished(() => kill(program));
  const sessions = await forkAndKill({
    client: () => client,
    killed: async () => {
      await kill(program);
      client.close();
      program = await startProgram(data, port);
      client = await connectTo(program.url);
    },
  });
  expect(sessions).toBe(1 + KILLS);
});

const server = natsServers().at(-1);

it.skipIf(!server)(
  `the same in a cluster, from one shard into others${server ? '' : ' (left out: there is no nats-server here)'}`,
  { timeout: 180_000 },
  async () => {
    const nats = await startNats({ path: server!.path });
    const names = ['ann', 'bob'];
    const folders = new Map(names.map((name) => [name, folderOf(name)]));
    const start = (name: string) => startWorker(folders.get(name)!, name, nats.url);
    const workers = new Map<string, Program>();
    for (const name of names) workers.set(name, await start(name));
    const gateway = await startGateway(folderOf('gateway'), await reservePort(), nats.url);
    const client = await connectTo(gateway.url);
    onTestFinished(async () => {
      client.close();
      await Promise.all([gateway, ...workers.values()].map(kill));
      await nats.stop();
    });
    const shards = Array.from({ length: KILLS }, (_, n) =>
      shardOf(address('default', 'session', `agent:main:fork-${n}`), SHARDS),
    );
    expect(shards).not.toEqual(
      shards.map(() => shardOf(address('default', 'session', SOURCE), SHARDS)),
    );
    const sessions = await forkAndKill({
      client: () => client,
      killed: async (n) => {
        const name = names[n % names.length]!;
        await kill(workers.get(name)!);
        workers.set(name, await start(name));
      },
    });
    expect(sessions).toBe(1 + KILLS);
  },
);
