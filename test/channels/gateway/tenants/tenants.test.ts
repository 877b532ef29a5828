/**
 * Isolation of the tenants of one complete troupe, over WebSocket and HTTP: lists omit foreign
 * data, and known names are refused.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTroupe, type Troupe } from '../../../../main.ts';
import { deviceAddress } from '../../../../protocols/device.ts';
import { loadConfig } from '../../../../runtime/config/index.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { Client, connected, type Frame, MAIN, TOKEN } from '../client.ts';
import { helloAsNode, newDevice } from '../devices/device-identity.ts';

const OF_ACME = 'the-token-of-acme';
const OF_BLUE = 'the-token-of-blue';
const SECRET = 'marzipan';
const SCOPES = ['admin', 'approvals', 'pairing', 'read', 'write'].map((name) => `operator.${name}`);
const CONFIG = `{
  gateway: { port: 0, auth: { token: "${TOKEN}" } },
  tenants: { acme: { token: "${OF_ACME}" }, blue: { token: "${OF_BLUE}" } },
  agents: { defaults: { model: "offline/troupe-offline" } },
  a2a: { enabled: true },
  log: { level: "info" },
}`;

let home: string;
let troupe: Troupe;
let acme: Client;
let node: Client;
/** one of another tenant, and one of the installation's own */
let blue: Client;
let own: Client;

const box = newDevice();
const phone = newDevice();
let runId: string;
let jobId: string;
let connId: string;
let approval: string;
let hash: string;

const ok = ({ ok: isOk, payload, error }: Frame) => {
  if (!isOk) throw new Error(JSON.stringify(error));
  return payload;
};

const http = async (
  token: string,
  path: string,
  more: { method?: string; body?: string; headers?: Record<string, string> } = {},
) => {
  const answer = await fetch(new URL(path, troupe.url), {
    ...more,
    headers: { authorization: `Bearer ${token}`, ...more.headers },
  });
  return { status: answer.status, text: await answer.text() };
};

const joinAsNode = async (): Promise<Client> => {
  const client = new Client(troupe.url);
  ok(await helloAsNode(client, box, OF_ACME));
  return client;
};

/** All data of acme. */
const live = async () => {
  const sent = { sessionKey: MAIN, message: `say ${SECRET}`, idempotencyKey: 'k1' };
  runId = ok(await acme.call('chat.send', sent)).runId;
  await acme.chat('final');
  ok(await acme.call('sessions.patch', { key: MAIN, label: `${SECRET} talk` }));
  const job = {
    name: `${SECRET} job`,
    schedule: { kind: 'every', everyMs: 3_600_000 },
    sessionTarget: 'isolated',
    wakeMode: 'now',
    payload: { kind: 'agentTurn', message: SECRET },
  };
  jobId = ok(await acme.call('cron.add', job)).id;
  node = await joinAsNode();
  await acme.frame(({ event, payload }) => event === 'node.presence' && payload.connected);
  const { publicKey } = phone;
  const asking = { type: 'device.ask', publicKey, role: 'operator', scopes: [], face: {} };
  await troupe.system.ask(deviceAddress('acme', phone.id), asking, {
    principal: { sub: 'test', roles: [] },
    timeoutMs: 10_000,
  });
  await acme.frame(({ event }) => event === 'device.pair.requested');
  acme.request('exec.approval.request', { command: `rm ${SECRET}`, timeoutMs: 300_000 });
  const asked = await acme.frame(({ event }) => event === 'exec.approval.requested');
  approval = asked.payload.id;
  const file = { method: 'POST', body: SECRET, headers: { 'content-type': 'text/plain' } };
  const stored = await http(OF_ACME, '/v1/artifacts', file);
  hash = (JSON.parse(stored.text) as { artifact_hash: string }).artifact_hash;
};

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'troupe-tenants-'));
  const file = join(home, 'troupe.json5');
  writeFileSync(file, CONFIG);
  troupe = await startTroupe(
    loadConfig({ env: {}, file, flags: { data: home } }).config,
    {},
    { file },
  );
  const as = (token: string) => connected(troupe, { auth: { token }, scopes: SCOPES });
  [acme, blue, own] = await Promise.all([as(OF_ACME), as(OF_BLUE), as(TOKEN)]);
  connId = acme.frames.find(({ payload }) => payload?.type === 'hello-ok')!.payload.server.connId;
  await live();
});

afterAll(async () => {
  const clients = [acme, blue, own, node];
  await Promise.all(clients.map((client) => client.close()));
  await troupe.stop();
  rmSync(home, { recursive: true, force: true });
  const complaints = clients.flatMap((client) => client.complaints);
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
});

const LOOKS: readonly (readonly [string, object])[] = [
  ['sessions.list', {}],
  ['sessions.search', { query: SECRET.slice(0, 5) }],
  ['chat.history', { sessionKey: MAIN }],
  ['sessions.get', { key: MAIN }],
  ['sessions.preview', { keys: [MAIN] }],
  ['sessions.usage', {}],
  ['usage.cost', {}],
  ['cron.list', { includeDisabled: true }],
  ['cron.runs', { scope: 'all' }],
  ['cron.status', {}],
  ['tasks.list', {}],
  ['node.list', {}],
  ['node.pair.list', {}],
  ['device.pair.list', {}],
  ['exec.approval.list', {}],
  ['system-presence', {}],
  ['audit.actions.list', {}],
  ['health', {}],
  ['status', {}],
];

/** Texts that would reveal data of acme, by kind. */
const traces = () => ({
  SECRET,
  runId,
  jobId,
  connId,
  approval,
  box: box.id,
  phone: phone.id,
});
const found = (text: string): string[] =>
  Object.entries(traces()).flatMap(([what, trace]) => (text.includes(trace) ? [what] : []));

const lookAround = async (client: Client): Promise<string> => {
  const heard = client.frames.length;
  for (const [method, params] of LOOKS) ok(await client.call(method, params));
  return JSON.stringify(client.frames.slice(heard));
};

it('a client of the tenant finds all of its data', async () => {
  const { connId: _, ...shown } = traces();
  expect(found(await lookAround(acme))).toEqual(Object.keys(shown));
});

describe.each([
  ['another tenant', () => blue],
  ['the installation itself', () => own],
])('a client of %s', (_, client) => {
  it('finds no data of another tenant, and received none of its events', async () => {
    expect(found(await lookAround(client()))).toEqual([]);
    expect(found(JSON.stringify(client().frames))).toEqual([]);
  });

  it.each<[string, () => object]>([
    ['cron.get', () => ({ id: jobId })],
    ['cron.update', () => ({ id: jobId, patch: { enabled: false } })],
    ['cron.run', () => ({ id: jobId, mode: 'force' })],
    ['node.describe', () => ({ nodeId: box.id })],
    ['node.rename', () => ({ nodeId: box.id, displayName: 'mine' })],
    ['node.invoke', () => ({ nodeId: box.id, command: 'system.which', idempotencyKey: 'x' })],
    ['node.pair.remove', () => ({ nodeId: box.id })],
    ['node.pending.enqueue', () => ({ nodeId: box.id, type: 'status.request' })],
    ['device.pair.remove', () => ({ deviceId: box.id })],
    ['device.token.rotate', () => ({ deviceId: box.id, role: 'node' })],
    ['device.token.revoke', () => ({ deviceId: box.id, role: 'node' })],
    ['exec.approval.get', () => ({ id: approval })],
    ['exec.approval.resolve', () => ({ id: approval, decision: 'deny' })],
  ])('is refused access to a tenant: %s', async (method, params) => {
    const { ok: isDone, error } = await client().call(method, params());
    expect(isDone).toBe(false);
    expect(error?.message).not.toMatch(/^invalid/);
    expect(found(JSON.stringify(error)).filter((what) => what === 'SECRET')).toEqual([]);
  });

  it('ends no run, waits for none, and resumes no connection of another tenant', async () => {
    const aborted = await client().call('chat.abort', { sessionKey: MAIN, runId });
    expect(aborted.payload?.aborted ?? false).toBe(false);
    const waited = await client().call('agent.wait', { runId, timeoutMs: 1 });
    expect(waited.payload).not.toMatchObject({ status: 'ok' });
    expect((await client().call('events.resume', { connId, seq: 0 })).payload).toMatchObject({
      resumed: false,
    });
  });

  it('has its own session of the same name', async () => {
    ok(await client().call('chat.inject', { sessionKey: MAIN, message: 'a note of my own' }));
    const shown = ok(await acme.call('chat.history', { sessionKey: MAIN }));
    expect(JSON.stringify(shown)).not.toContain('a note of my own');
  });
});

it('the data of the tenant is unchanged', async () => {
  expect(ok(await acme.call('cron.list', { includeDisabled: true })).jobs).toMatchObject([
    { id: jobId, enabled: true },
  ]);
  expect(ok(await acme.call('node.list', {})).nodes).toMatchObject([
    { nodeId: box.id, connected: true },
  ]);
  expect(node.events('node.invoke.request')).toEqual([]);
  expect(ok(await acme.call('exec.approval.get', { id: approval })).id).toBe(approval);
});

describe('installation-wide settings', () => {
  it.each<[string, object]>([
    ['config.get', {}],
    ['config.set', { raw: '{}', baseHash: 'x' }],
    ['config.patch', { raw: '{}', baseHash: 'x' }],
    ['config.apply', { raw: '{}', baseHash: 'x' }],
    ['agents.create', { name: 'spy', workspace: '/tmp/spy' }],
    ['agents.update', { agentId: 'main', model: 'offline/troupe-offline' }],
    ['agents.delete', { agentId: 'main' }],
    ['agents.files.list', { agentId: 'main' }],
    ['agents.files.get', { agentId: 'main', name: 'AGENTS.md' }],
    ['agents.files.set', { agentId: 'main', name: 'AGENTS.md', content: 'obey' }],
    ['skills.status', {}],
    ['logs.tail', {}],
  ])('are refused to an operator of a tenant: %s', async (method, params) => {
    const { error } = await acme.call(method, params);
    expect(error?.message).toContain('installation-wide settings');
  });

  it('are available to the installation’s own operators', async () => {
    for (const method of ['config.get', 'logs.tail', 'skills.status'])
      expect(await own.call(method, {})).toMatchObject({ ok: true });
  });
});

describe('over HTTP', () => {
  const PATHS = [
    '/v1/schedules',
    '/v1/approvals',
    '/v1/conversations',
    '/v1/subagents',
    '/v1/usage',
  ];

  it('a tenant’s token gives access only to the tenant’s data', async () => {
    const all = async (token: string, query = '') => {
      const answers = await Promise.all(PATHS.map((path) => http(token, path + query)));
      return answers.map(({ status, text }) => ({ status, found: found(text) }));
    };
    const nothing = { status: 200, found: [] };
    const seen = await all(OF_ACME);
    expect(seen.every(({ status }) => status === 200)).toBe(true);
    expect(seen.flatMap((one) => one.found)).toEqual(expect.arrayContaining(['jobId', 'approval']));
    expect(await all(OF_BLUE)).toEqual(PATHS.map(() => nothing));
    expect(await all(TOKEN)).toEqual(PATHS.map(() => nothing));
    expect(await all(TOKEN, '?tenant=acme')).toEqual(seen);
  });

  it.each(['?tenant=acme', '?tenant=default', '?tenant=blue&tenant=acme', '?%74enant=acme'])(
    'a tenant’s token names no other tenant: %s',
    async (query) => {
      const paths = [...PATHS, `/v1/runs/${runId}/trace`];
      const answers = await Promise.all(paths.map((path) => http(OF_BLUE, path + query)));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 403));
    },
  );

  it('a tenant’s token cannot change another tenant', async () => {
    const post = (path: string) => http(OF_BLUE, path, { method: 'POST' });
    expect((await post(`/v1/schedules/${jobId}/run`)).status).toBe(404);
    const gone = await http(OF_BLUE, `/v1/schedules/${jobId}`, { method: 'DELETE' });
    expect(gone.status).toBe(404);
    expect((await http(OF_BLUE, `/v1/runs/${runId}/trace`)).status).toBe(404);
    const sign = `/v1/artifacts/${hash}/sign`;
    expect((await post(sign)).status).toBe(404);
    expect((await http(OF_ACME, sign, { method: 'POST' })).status).toBe(200);
  });

  it.each(['/v1/dead-letters', '/v1/keys', '/v1/slo', '/v1/decisions', '/metrics'])(
    'installation-wide data is refused to operators of a tenant: %s',
    async (path) => {
      expect((await http(OF_ACME, path)).status).toBe(403);
      expect((await http(TOKEN, path)).status).toBe(200);
    },
  );

  it('a change by an operator of a tenant is recorded in the audit of that tenant', async () => {
    const path = `/v1/schedules/${jobId}/run`;
    expect((await http(OF_ACME, path, { method: 'POST' })).status).toBe(200);
    const actions = async (client: Client): Promise<string[]> =>
      // Each read is recorded too: without the filter, many reads push this record off the page.
      ok(await client.call('audit.actions.list', { action: 'POST' })).records.map(
        ({ action }: { action: string }) => action,
      );
    await eventually(async () => expect(await actions(acme)).toContain(`POST ${path}`));
    expect(await actions(own)).not.toContain(`POST ${path}`);
  });
});
