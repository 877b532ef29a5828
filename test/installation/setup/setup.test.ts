/**
 * Agents, configuration, catalogs, log and health of a whole troupe through its gateway. Every
 * frame is validated by the published protocol.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import JSON5 from 'json5';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTroupe, type Troupe } from '../../../main.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { type Client, connected, TOKEN } from '../../channels/gateway/client.ts';

const SECRET = 'sk-that-no-client-may-read';
const TEXT = `{
  // the accepted credentials
  gateway: { port: 0, auth: { token: "${TOKEN}" } },
  models: { providers: { acme: {
    api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: "${SECRET}",
    models: [{ id: "m1" }],
  } } },
  agents: { defaults: { model: "offline/troupe-offline" } },
  log: { level: "info" },
}
`;

let home: string;
let file: string;
let troupe: Troupe;
let client: Client;

const start = async () => {
  const { config } = loadConfig({ env: {}, file, flags: { data: home } });
  troupe = await startTroupe(config, {}, { file });
  client = await connected(troupe);
};
const stop = async () => {
  await client.close();
  await troupe.stop();
};

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'troupe-setup-'));
  file = join(home, 'troupe.json5');
  writeFileSync(file, TEXT);
  await start();
});
afterEach(async () => {
  await stop();
  rmSync(home, { recursive: true, force: true });
  if (client.complaints.length > 0) throw new Error(client.complaints.join('\n'));
});

const ask = async (method: string, params: object = {}) => {
  const { ok, payload, error } = await client.call(method, params);
  expect({ ok, error }).toEqual({ ok: true, error: undefined });
  return payload;
};
const refusal = async (method: string, params: object = {}) => {
  const { ok, error } = await client.call(method, params);
  expect(ok).toBe(false);
  return error!;
};
const ids = async () => (await ask('agents.list')).agents.map(({ id }: { id: string }) => id);

describe('agents', () => {
  test('a created agent answers at once, exists after a restart, and can be deleted', async () => {
    const made = await ask('agents.create', { name: 'Ops Helper', emoji: '🛠' });
    expect(made).toMatchObject({ agentId: 'ops-helper', name: 'Ops Helper' });
    const sessionKey = 'agent:ops-helper:main';
    await ask('chat.send', { sessionKey, message: 'hello', idempotencyKey: 'r1' });
    await client.chat('final');
    await stop();
    await start();
    expect(await ids()).toEqual(['main', 'ops-helper']);
    const { name, nameSource } = await ask('agent.identity.get', { agentId: 'ops-helper' });
    expect({ name, nameSource }).toEqual({ name: 'Ops Helper', nameSource: 'config' });
    await ask('agents.delete', { agentId: 'ops-helper' });
    expect(await ids()).toEqual(['main']);
    expect(readFileSync(file, 'utf8')).not.toContain('ops-helper');
  });

  test('a duplicate name, an unknown model and deleting the default agent are refused without a change', async () => {
    await ask('agents.create', { name: 'second' });
    const before = readFileSync(file, 'utf8');
    expect((await refusal('agents.create', { name: 'Second' })).message).toContain('already');
    const model = 'unknown/model';
    await refusal('agents.update', { agentId: 'second', model });
    await refusal('agents.delete', { agentId: 'main' });
    await refusal('agents.create', { name: '///' });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('a list under its other name is changed in place, and a named folder is not removed', async () => {
    await stop();
    const list = `list: [{ id: 'main', name: 'Lan' }, { id: 'two', workspace: '${home}/two' }]`;
    writeFileSync(file, TEXT.replace('agents: {', `agents: { ${list},`));
    await start();
    const { name } = await ask('agent.identity.get', { agentId: 'main' });
    expect(name).toBe('Lan');
    await ask('agents.update', { agentId: 'main', emoji: '🌿' });
    await ask('agents.files.set', { agentId: 'two', name: 'AGENTS.md', content: 'x' });
    const { removed, failed } = await ask('agents.delete', { agentId: 'two', deleteFiles: true });
    expect(removed).toBeUndefined();
    expect(failed).toEqual([{ path: join(home, 'two'), reason: expect.any(String) as string }]);
    expect(readFileSync(join(home, 'two/AGENTS.md'), 'utf8')).toBe('x');
    const { agents } = JSON5.parse<{ agents: object }>(readFileSync(file, 'utf8'));
    expect(agents).toEqual({
      list: [{ id: 'main', identity: { name: 'Lan', emoji: '🌿' } }],
      defaults: { model: 'offline/troupe-offline' },
    });
  });

  test('a file of the prompt is written and read; other paths are refused', async () => {
    const name = 'AGENTS.md';
    await ask('agents.files.set', { agentId: 'main', name, content: '# be kind' });
    const { file: read } = await ask('agents.files.get', { agentId: 'main', name });
    expect(read).toMatchObject({ missing: false, content: '# be kind', size: 9 });
    const { files } = await ask('agents.files.list', { agentId: 'main' });
    expect(files.filter(({ missing }: { missing: boolean }) => !missing).length).toBe(1);
    const elsewhere = { agentId: 'main', name: '../../token' };
    expect((await refusal('agents.files.get', elsewhere)).message).toContain('no file');
    await refusal('agents.files.set', { ...elsewhere, content: 'x' });
  });
});

describe('the configuration', () => {
  test('is shown without its secrets, with its comments', async () => {
    const shown = await ask('config.get');
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(JSON.stringify(shown)).not.toContain(TOKEN);
    expect(shown).toMatchObject({ path: file, exists: true, valid: true });
    expect(shown.raw).toContain('// the accepted credentials');
  });

  test('can be sent back as shown: the secrets are unchanged', async () => {
    const { raw, hash } = await ask('config.get');
    await ask('config.set', { raw, baseHash: hash });
    const { config } = loadConfig({ env: {}, file, flags: { data: home } });
    expect(config.models.providers['acme']?.apiKey?.reveal()).toBe(SECRET);
    expect(readFileSync(`${file}.bak`, 'utf8')).toBe(TEXT);
  });

  test('reports which changes apply at once and which need a restart', async () => {
    const { hash } = await ask('config.get');
    const raw =
      '{ gateway: { bind: "lan" }, log: { level: "warn" }, agents: { defaults: { timeoutSeconds: 77 } } }';
    const { applied, restart } = await ask('config.patch', { raw, baseHash: hash });
    expect(applied).toEqual(['log.level', 'agents.defaults.timeoutSeconds']);
    expect(restart).toEqual({ required: true, paths: ['gateway.bind'] });
  });

  test('refuses a stale text, an invalid one, and one with a command', async () => {
    const { hash } = await ask('config.get');
    const raw = '{ log: { level: "warn" } }';
    expect((await refusal('config.patch', { raw })).message).toContain('baseHash');
    expect((await refusal('config.patch', { raw, baseHash: 'f00' })).message).toContain('changed');
    const wrong = { raw: '{ log: { level: "loud" } }', baseHash: hash };
    expect((await refusal('config.patch', wrong)).message).toContain('log.level');
    const command = '{ gateway: { auth: { token: { command: ["touch", "x"] } } } }';
    expect(await refusal('config.patch', { raw: command, baseHash: hash })).toMatchObject({
      code: 'FORBIDDEN',
    });
    expect(readFileSync(file, 'utf8')).toBe(TEXT);
  });

  test('has a schema, as a whole and by key', async () => {
    const { schema, uiHints } = await ask('config.schema');
    expect(schema.properties.gateway).toBeDefined();
    expect(uiHints['gateway.auth.token']).toMatchObject({ sensitive: true });
    const port = await ask('config.schema.lookup', { path: 'gateway.port' });
    expect(port).toMatchObject({ reloadKind: 'restart', schema: { type: 'integer' } });
    expect((await refusal('config.schema.lookup', { path: 'gateway.prot' })).message).toContain(
      'gateway.prot',
    );
  });
});

describe('the catalogs', () => {
  test('models, providers, tools, skills and commands', async () => {
    const { models } = await ask('models.list');
    expect(models.map(({ id }: { id: string }) => id)).toEqual(['troupe-offline', 'm1']);
    const { providers } = await ask('models.authStatus');
    expect(providers).toContainEqual(
      expect.objectContaining({ provider: 'anthropic', status: 'missing' }),
    );
    const { groups } = await ask('tools.catalog');
    const effective = await ask('tools.effective', { sessionKey: 'main' });
    const count = groups.flatMap(({ tools }: { tools: unknown[] }) => tools).length;
    expect(effective.groups[0].tools.length).toBeGreaterThan(5);
    expect(effective.profile).toBe('full');
    expect(effective.groups[0].tools.length).toBeLessThanOrEqual(count);
    const { commands } = await ask('commands.list');
    expect(commands.map(({ name }: { name: string }) => name)).toContain('compact');
    mkdirSync(join(home, 'skills', 'deploy'), { recursive: true });
    const skill = '---\nname: deploy\ndescription: how to deploy\n---\n';
    writeFileSync(join(home, 'skills', 'deploy', 'SKILL.md'), skill);
    const { skills } = await ask('skills.status');
    expect(skills).toMatchObject([{ name: 'deploy', eligible: true, source: 'troupe-shared' }]);
  });

  test('the machine, the usage, and an empty list of channels', async () => {
    expect(await ask('system.info')).toMatchObject({ pid: process.pid, diskPath: home });
    expect((await ask('channels.status')).channelOrder).toEqual([]);
    await ask('chat.send', { sessionKey: 'main', message: 'hello', idempotencyKey: 'u1' });
    await client.chat('final');
    const { sessions, totals } = await ask('sessions.usage');
    expect(sessions.length).toBe(1);
    expect(totals.totalTokens).toBe(sessions[0].usage.totalTokens);
    expect((await ask('usage.cost')).days).toBe(1);
    expect((await ask('usage.status')).providers).toEqual([]);
  });

  test('the log continues where the last response ended', async () => {
    const first = await ask('logs.tail', { limit: 50 });
    expect(first.lines.join('\n')).toContain('listening');
    expect(await ask('logs.tail', { cursor: first.cursor })).toMatchObject({ lines: [] });
    const foreign = await ask('logs.tail', { cursor: first.cursor + 1_000_000 });
    expect(foreign.reset).toBe(true);
  });
});

describe('health', () => {
  test('is published when agents change, and its version rises', async () => {
    await ask('agents.create', { name: 'second' });
    const event = (await client.frame(({ event: name }) => name === 'health')) as unknown as {
      payload: { agents: { agentId: string }[] };
      stateVersion: { health: number };
    };
    expect(event.payload.agents.map(({ agentId }) => agentId)).toEqual(['main', 'second']);
    expect(event.stateVersion.health).toBeGreaterThan(1);
  });
});
