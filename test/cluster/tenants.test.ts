/**
 * Tenants of a cluster: the real program as a worker and a gateway on a real NATS server. A tenant
 * has its own agents, provider key, hooks and files. The worker and the gateway are killed, and the
 * tenant still has all of them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import { kill, type Program, startGateway, startWorker, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import type { ScriptedServer } from '../servers/scripted-server.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const folder = mkdtempSync(join(tmpdir(), 'troupe-tenants-nats-'));
const OF_ACME = 'token-of-acme';
const models = new Map<string, ScriptedServer>();
let nats: NatsServer | undefined;
let worker: Program;
let gateway: Program;
let port: number;
let own: GatewayClient;
let acme: GatewayClient;

const provider = (tenant: string) => ({
  providers: {
    house: {
      api: 'openai-completions',
      baseUrl: models.get(tenant)!.baseUrl,
      apiKey: `key-of-${tenant}`,
      models: [{ id: 'model' }],
    },
  },
});

/** As on a separate machine. */
const dataOf = (name: string): string => {
  const data = join(folder, name);
  const hooks = join(data, 'tenants/acme/hooks');
  mkdirSync(hooks, { recursive: true });
  writeFileSync(
    join(hooks, 'signed.mjs'),
    `export default { name: 'signed', hooks: { message_sending: ({ text }) => ({ text: text + ' [acme]' }) } };`,
  );
  const config = {
    cluster: { shards: 4 },
    agents: { agents: [{ id: 'main' }, { id: 'clerk' }] },
    models: provider('default'),
    tenants: {
      acme: {
        token: OF_ACME,
        agents: { agents: [{ id: 'main' }, { id: 'ledger' }] },
        models: provider('acme'),
        hooks: {},
        workspaces: { path: join(data, 'acme-files') },
      },
    },
  };
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(config));
  return data;
};

const connect = async (): Promise<void> => {
  const { url } = gateway;
  own = await connectOperator({ url, token: TOKEN, reconnect: false });
  acme = await connectOperator({ url, token: OF_ACME, reconnect: false });
};

const start = async (): Promise<void> => {
  worker = await startWorker(dataOf('worker'), 'ann', nats!.url);
  gateway = await startGateway(dataOf('gateway'), port, nats!.url);
  await connect();
};

const idsOf = async (client: GatewayClient): Promise<readonly string[]> => {
  const { agents } = (await client.request('agents.list', {})) as { agents: { id: string }[] };
  return agents.map(({ id }) => id);
};

let keys = 0;
const said = async (client: GatewayClient, more: object = {}): Promise<string> => {
  const params = { message: 'hello', idempotencyKey: `k${++keys}`, ...more };
  const { result } = (await client.request('agent', params, { expectFinal: true })) as {
    result: { payloads: readonly { text: string }[] };
  };
  return result.payloads.map(({ text }) => text).join('\n');
};

const authorizationsAt = (tenant: string): ReadonlySet<string | undefined> =>
  new Set(models.get(tenant)!.requests.map(({ headers }) => headers['authorization']));

beforeAll(async () => {
  if (!server) return;
  for (const tenant of ['default', 'acme']) {
    const model = await startOpenAiServer({ apiKey: `key-of-${tenant}` });
    model.otherwise({ kind: 'answer', deltas: [`from the model of ${tenant}`] });
    models.set(tenant, model);
  }
  nats = await startNats({ path: server.path });
  port = await reservePort();
  await start();
}, 60_000);

afterAll(async () => {
  own?.close();
  acme?.close();
  await Promise.all([gateway, worker].filter((one) => one !== undefined).map(kill));
  await nats?.stop();
  await Promise.all([...models.values()].map((model) => model.close()));
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!server)(`tenants of a cluster${leftOut}`, () => {
  it('a worker runs a tenant’s agents with the tenant’s models, key and hooks', async () => {
    expect(await said(acme)).toBe('from the model of acme [acme]');
    expect(await said(own)).toBe('from the model of default');
    expect(authorizationsAt('acme')).toEqual(new Set(['Bearer key-of-acme']));
    expect(authorizationsAt('default')).toEqual(new Set(['Bearer key-of-default']));
    expect(await idsOf(acme)).toEqual(['main', 'ledger']);
    expect(await idsOf(own)).toEqual(['main', 'clerk']);
  }, 30_000);

  it('the changes of each tenant stay separate, also after kill -9 of all processes', async () => {
    await acme.request('agents.create', { name: 'buyer' });
    await own.request('agents.create', { name: 'scout' });
    await acme.request('agents.files.set', {
      agentId: 'main',
      name: 'AGENTS.md',
      content: 'Be brief.',
    });
    own.close();
    acme.close();
    await Promise.all([gateway, worker].map(kill));
    await start();
    expect(await idsOf(acme)).toEqual(['main', 'ledger', 'buyer']);
    expect(await idsOf(own)).toEqual(['main', 'clerk', 'scout']);
    const asBuyer = { agentId: 'buyer', sessionKey: 'agent:buyer:main' };
    expect(await said(acme, asBuyer)).toBe('from the model of acme [acme]');
    await expect(said(own, asBuyer)).rejects.toThrow('unknown agent id "buyer"');
    await said(acme);
    expect(JSON.stringify(models.get('acme')!.requests.at(-1)?.body)).toContain('Be brief.');
    expect(authorizationsAt('default')).toEqual(new Set(['Bearer key-of-default']));
  }, 90_000);
});
