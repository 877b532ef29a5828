/**
 * Tenants with their own agents, providers, policy, hooks, workspaces and budgets, in one complete
 * troupe. No other tenant sees or uses them. Each model server accepts one key and records its
 * requests.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import JSON5 from 'json5';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startTroupe, type Troupe } from '../../../../main.ts';
import { loadConfig } from '../../../../runtime/config/index.ts';
import { startOpenAiServer } from '../../../servers/openai-server.ts';
import type { Plan, PlannedCall, ScriptedServer } from '../../../servers/scripted-server.ts';
import { Client, connected, connectParams, type Frame, TOKEN } from '../client.ts';

type Tenant = 'default' | 'acme' | 'blue' | 'plain';
const TENANTS: readonly Tenant[] = ['default', 'acme', 'blue', 'plain'];
const OWN = ['default', 'acme', 'blue'] as const;
const tokenOf = (tenant: Tenant): string => (tenant === 'default' ? TOKEN : `token-of-${tenant}`);
const SCOPES = ['admin', 'approvals', 'pairing', 'read', 'write'].map((name) => `operator.${name}`);

let home: string;
let troupe: Troupe;
const servers = new Map<Tenant, ScriptedServer>();
const clients = new Map<Tenant, Client>();
let keys = 0;

const server = (tenant: Tenant): ScriptedServer => servers.get(tenant)!;
const client = (tenant: Tenant): Client => clients.get(tenant)!;

const ok = ({ ok: isOk, payload, error }: Frame) => {
  if (!isOk) throw new Error(JSON.stringify(error));
  return payload;
};

/** The tenants default and blue use the same provider name. */
const models = (tenant: (typeof OWN)[number], provider: string) => ({
  providers: {
    [provider]: {
      api: 'openai-completions',
      baseUrl: server(tenant).baseUrl,
      apiKey: `key-of-${tenant}`,
      models: [{ id: `model-of-${tenant}` }],
    },
  },
});

const hookOf = (tenant: string) =>
  `export default { name: 'signed', hooks: {
    message_sending: ({ text }) => ({ text: text + ' [hook of ${tenant}]' }) } };`;

const configuration = () => {
  const defaults = { sandbox: { mode: 'none' } };
  return {
    gateway: { port: 0, auth: { token: TOKEN } },
    agents: { defaults, agents: [{ id: 'main' }, { id: 'clerk' }] },
    models: models('default', 'house'),
    tools: { agentToAgent: { enabled: true } },
    tenants: {
      acme: {
        token: tokenOf('acme'),
        agents: { defaults, agents: [{ id: 'main' }, { id: 'ledger' }] },
        models: models('acme', 'acme-models'),
        tools: {
          deny: ['web_fetch'],
          exec: { ask: 'on-miss', allow: ['echo *', 'tr t T'] },
          agentToAgent: { enabled: true },
        },
        hooks: {},
        workspaces: { path: 'acme-files' },
      },
      blue: {
        token: tokenOf('blue'),
        models: models('blue', 'house'),
        hooks: {},
        budget: { tokensPerDay: 1 },
      },
      plain: { token: tokenOf('plain') },
    },
    log: { level: 'silent' },
  };
};

const open = async (): Promise<void> => {
  const file = join(home, 'troupe.json5');
  const { config } = loadConfig({ env: {}, file, flags: { data: home } });
  troupe = await startTroupe(config, {}, { file });
  for (const tenant of TENANTS)
    clients.set(
      tenant,
      await connected(troupe, { auth: { token: tokenOf(tenant) }, scopes: SCOPES }),
    );
};

const close = async (): Promise<void> => {
  await Promise.all([...clients.values()].map((one) => one.close()));
  const complaints = [...clients.values()].flatMap((one) => one.complaints);
  await troupe.stop();
  expect(complaints).toEqual([]);
};

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'troupe-tenants-own-'));
  for (const tenant of OWN)
    servers.set(tenant, await startOpenAiServer({ apiKey: `key-of-${tenant}` }));
  for (const [folder, name] of [
    ['hooks', 'the installation'],
    ['tenants/acme/hooks', 'acme'],
  ] as const) {
    mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, folder, 'signed.mjs'), hookOf(name));
  }
  writeFileSync(join(home, 'troupe.json5'), JSON.stringify(configuration()));
  process.env['OPENAI_API_KEY'] = 'key-of-the-environment';
  await open();
});

afterAll(async () => {
  delete process.env['OPENAI_API_KEY'];
  await close();
  await Promise.all([...servers.values()].map((one) => one.close()));
  rmSync(home, { recursive: true, force: true });
});

const answer = (text: string, calls: readonly PlannedCall[] = []): Plan => ({
  kind: 'answer',
  deltas: [text],
  ...(calls.length > 0 ? { calls } : {}),
});
const call = (name: string, args: object): PlannedCall => ({ id: `call_${++keys}`, name, args });

/** The end of one run: its status and answer, or its error. */
const ask = async (tenant: Tenant, message: string, more: object = {}) => {
  const params = { message, sessionKey: `talk-${++keys}`, idempotencyKey: `k${keys}`, ...more };
  const id = client(tenant).request('agent', params);
  const done = await client(tenant).frame(
    (frame) => frame.id === id && (!frame.ok || frame.payload?.status !== 'accepted'),
  );
  const texts = (done.payload?.result?.payloads ?? []) as readonly { readonly text: string }[];
  return { done, text: texts.map(({ text }) => text).join('\n') };
};

const requestsOf = (tenant: Tenant) => server(tenant).requests.length;
const lastRequest = (tenant: Tenant): string =>
  JSON.stringify(server(tenant).requests.at(-1)?.body);

it.each([
  ['default', 'default', 'the installation'],
  ['acme', 'acme', 'acme'],
  ['plain', 'default', 'the installation'],
] as const)(
  '%s asks the model of %s with its key, and the hooks of %s run',
  async (who, whose, hooks) => {
    const before = new Map(OWN.map((tenant) => [tenant, requestsOf(tenant)]));
    server(whose).script(answer(`answer for ${who}`));
    expect((await ask(who, 'hello')).text).toBe(`answer for ${who} [hook of ${hooks}]`);
    for (const tenant of OWN)
      expect([tenant, requestsOf(tenant) - before.get(tenant)!]).toEqual([
        tenant,
        tenant === whose ? 1 : 0,
      ]);
    const { headers, body } = server(whose).requests.at(-1)!;
    expect(headers['authorization']).toBe(`Bearer key-of-${whose}`);
    expect(body['model']).toBe(`model-of-${whose}`);
  },
);

it('a tenant with empty hooks runs none, and its budget ends only its own runs', async () => {
  server('blue').script(answer('answer for blue'));
  const first = await ask('blue', 'hello');
  expect(server('blue').requests.at(-1)?.headers['authorization']).toBe('Bearer key-of-blue');
  expect(first.text).not.toContain('hook of');
  const before = requestsOf('blue');
  const second = await ask('blue', 'again');
  expect(JSON.stringify(second.done)).toContain('RATE_LIMIT');
  expect(requestsOf('blue')).toBe(before);
  for (const tenant of ['default', 'acme'] as const)
    expect((await ask(tenant, 'hello')).done.payload.status).toBe('ok');
});

it('each tenant’s lists contain only its own agents, providers and tools', async () => {
  const look = async (tenant: Tenant): Promise<string> => {
    const answers = [];
    for (const [method, params] of [
      ['agents.list', {}],
      ['models.list', { view: 'all' }],
      ['models.authStatus', {}],
      ['tools.effective', { sessionKey: 'agent:main:main' }],
      ['health', {}],
      ['status', {}],
    ] as const)
      answers.push(ok(await client(tenant).call(method, params)));
    return JSON.stringify(answers);
  };
  const [own, acme, blue, plain] = await Promise.all(TENANTS.map(look));
  expect(own).toMatch(/"clerk".*model-of-default.*"web_fetch"/);
  for (const trace of ['ledger', 'acme', 'model-of-blue']) expect(own).not.toContain(trace);
  expect(acme).toMatch(/"ledger".*model-of-acme/);
  for (const trace of ['clerk', 'model-of-default', 'model-of-blue', 'house', '"web_fetch"'])
    expect(acme).not.toContain(trace);
  expect(blue).toMatch(/"clerk".*model-of-blue/);
  expect(blue).not.toContain('model-of-default');
  expect(plain).toMatch(/"clerk".*model-of-default/);
});

it.each([
  ['acme', 'house/model-of-default'],
  ['acme', 'openai/gpt-5.5'],
  ['default', 'acme-models/model-of-acme'],
] as const)('%s cannot use a model of another tenant: %s', async (tenant, model) => {
  const counts = () => OWN.map(requestsOf);
  const before = counts();
  const { done } = await ask(tenant, 'hello', { model });
  expect(done.payload?.status).not.toBe('ok');
  expect(JSON.stringify(done)).not.toContain('key-of');
  expect(counts()).toEqual(before);
});

it('an agent of another tenant is unknown', async () => {
  for (const [tenant, agentId] of [
    ['acme', 'clerk'],
    ['default', 'ledger'],
  ] as const) {
    const { done } = await ask(tenant, 'hello', { agentId, sessionKey: `agent:${agentId}:main` });
    expect(done.error?.message).toContain(`unknown agent id "${agentId}"`);
  }
});

it('agents write only to sessions of their own tenant, and subagents use its models', async () => {
  const before = requestsOf('default');
  server('acme').script(
    answer('', [call('sessions_send', { sessionKey: 'agent:clerk:main', message: 'marzipan' })]),
    answer('sent'),
  );
  await ask('acme', 'write to the clerk');
  expect(lastRequest('acme')).toMatch(/clerk/);
  const seen = ok(await client('default').call('sessions.list', {}));
  expect(JSON.stringify(seen)).not.toContain('agent:clerk:main');
  server('acme').otherwise(({ body }) =>
    JSON.stringify(body).includes('count the stock') ? answer('the stock is 7') : answer('done'),
  );
  server('acme').script(answer('', [call('sessions_spawn', { task: 'count the stock' })]));
  const from = requestsOf('acme');
  await ask('acme', 'delegate it');
  await client('acme').frame(() =>
    server('acme')
      .requests.slice(from)
      .some(({ body }) => JSON.stringify(body).includes('the stock is 7')),
  );
  expect(requestsOf('default')).toBe(before);
  server('acme').otherwise(answer('fine'));
});

it('a command runs without approval if the tenant’s own pattern allows it, and needs approval elsewhere', async () => {
  const run = call('exec', { command: 'echo of-the-tenant | tr t T' });
  server('acme').script(answer('', [run]), answer('done'));
  expect((await ask('acme', 'run it')).done.payload.status).toBe('ok');
  expect(lastRequest('acme')).toContain('of-The-TenanT');
  server('default').script(answer('', [{ ...run, id: 'call_x' }]), answer('done'));
  const asking = ask('default', 'run it');
  const asked = await client('default').frame(({ event }) => event === 'exec.approval.requested');
  expect(client('acme').events('exec.approval.requested')).toEqual([]);
  ok(
    await client('default').call('exec.approval.resolve', {
      id: asked.payload.id,
      decision: 'deny',
    }),
  );
  await asking;
});

it('a tenant’s operators change its agents and files, at once and across restarts', async () => {
  const acme = client('acme');
  expect(ok(await acme.call('agents.create', { name: 'buyer' })).agentId).toBe('buyer');
  const file = { agentId: 'ledger', name: 'AGENTS.md', content: 'Answer in roman numerals.' };
  ok(await acme.call('agents.files.set', file));
  const folders = readdirSync(join(home, 'acme-files'));
  expect(
    folders.some((name) => existsSync(join(home, 'acme-files', name, 'files/AGENTS.md'))),
  ).toBe(true);
  const same = await client('default').call('agents.files.get', {
    agentId: 'main',
    name: 'AGENTS.md',
  });
  expect(ok(same).file.missing).toBe(true);
  await close();
  await open();
  const idsOf = async (tenant: Tenant): Promise<string[]> =>
    ok(await client(tenant).call('agents.list', {})).agents.map(({ id }: { id: string }) => id);
  expect(await idsOf('acme')).toEqual(['main', 'ledger', 'buyer']);
  expect(await idsOf('default')).toEqual(['main', 'clerk']);
  expect(await idsOf('plain')).toEqual(['main', 'clerk']);
  server('acme').script(answer('as the buyer'));
  expect((await ask('acme', 'hi', { agentId: 'buyer' })).text).toContain('as the buyer');
  ok(await client('acme').call('agents.delete', { agentId: 'buyer' }));
  expect(await idsOf('acme')).toEqual(['main', 'ledger']);
});

it('a tenant’s operators see no configuration and no log, and cannot change inherited agents', async () => {
  for (const [method, params] of [
    ['config.get', {}],
    ['config.patch', { raw: '{}', baseHash: 'x' }],
    ['logs.tail', {}],
  ] as const)
    expect((await client('acme').call(method, params)).error?.message).toContain(
      'installation-wide settings',
    );
  for (const tenant of ['plain', 'blue'] as const)
    expect((await client(tenant).call('agents.create', { name: 'spy' })).error?.message).toContain(
      'installation-wide settings',
    );
});

it('a fault elsewhere in the file is not shown to a tenant that changes its agents', async () => {
  const file = join(home, 'troupe.json5');
  const text = readFileSync(file, 'utf8');
  const broken = JSON5.parse<Record<string, object>>(text);
  for (const wrong of [JSON.stringify({ ...broken, session: { mainKey: 'NOT OK' } }), '{ broken']) {
    writeFileSync(file, wrong);
    const { error } = await client('acme').call('agents.create', { name: 'late' });
    expect(error?.message).toContain('ask its operator');
    expect(JSON.stringify(error)).not.toMatch(/mainKey|NOT OK|troupe\.json5/);
  }
  writeFileSync(file, text);
  const unknown = { name: 'late', model: 'house/model-of-default' };
  const { error } = await client('acme').call('agents.create', unknown);
  expect(error?.message).toMatch(/^tenants\.acme\.agents\.agents\[2\]\.model: /);
});

it('a change of the installation’s agents reaches only the tenants that inherit them', async () => {
  ok(await client('default').call('agents.create', { name: 'newcomer' }));
  const has = async (tenant: Tenant) =>
    JSON.stringify(ok(await client(tenant).call('agents.list', {}))).includes('newcomer');
  expect(await Promise.all(TENANTS.map(has))).toEqual([true, false, true, true]);
});

it('a user whom a proxy names for a tenant has the agents of that tenant', async () => {
  const data = mkdtempSync(join(tmpdir(), 'troupe-tenants-proxy-'));
  const file = join(data, 'troupe.json5');
  const { tenants, ...config } = configuration();
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      gateway: {
        port: 0,
        auth: { mode: 'trusted-proxy', trustedProxy: { proxies: ['127.0.0.1'] } },
      },
      tenants: { acme: { ...tenants.acme, principals: ['proxy:ann'] } },
    }),
  );
  const other = await startTroupe(
    loadConfig({ env: {}, file, flags: { data } }).config,
    {},
    { file },
  );
  onTestFinished(async () => {
    await other.stop();
    rmSync(data, { recursive: true, force: true });
  });
  const idsOf = async (user: string): Promise<string[]> => {
    const headers = { 'x-forwarded-user': user, 'x-forwarded-for': '203.0.113.9' };
    const person = new Client(other.url, { headers });
    await person.frame(({ event }) => event === 'connect.challenge');
    ok(await person.call('connect', connectParams({ auth: undefined, scopes: SCOPES })));
    const { agents } = ok(await person.call('agents.list', {}));
    await person.close();
    return agents.map(({ id }: { id: string }) => id);
  };
  expect(await idsOf('ann')).toEqual(['main', 'ledger']);
  expect(await idsOf('bob')).toEqual(['main', 'clerk']);
});
