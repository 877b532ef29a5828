import { inspect } from 'node:util';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import {
  Secret,
  defaultAgent,
  loadConfig,
  resolveAgents,
  workspaceFolderOf,
} from '../../../runtime/config/index.ts';
import { load, scratchFolder, write } from './folder.ts';

describe('secrets of one section', () => {
  const text =
    "{ gateway: { auth: { token: { env: 'OURS' } } }, tenants: { gold: { token: { env: 'THEIRS' } } } }";

  it('are read, and none of the others, which run no command and cannot be revealed', () => {
    const { config } = load(text, { env: { OURS: 'token' }, secretsWithin: '/gateway/auth' });
    expect(config.gateway.auth.token?.reveal()).toBe('token');
    const other = config.tenants['gold']!.token!;
    expect(JSON.stringify(other)).toBe('"***"');
    expect(() => other.reveal()).toThrow('was not read');
    expect(() => other.matches('')).toThrow('was not read');
  });

  it('are required', () => {
    const read = () => load(text, { env: {}, secretsWithin: '/gateway/auth' });
    expect(read).toThrow('the environment variable OURS is not set');
    expect(read).not.toThrow('THEIRS');
  });
});

describe('layers', () => {
  it('fills every default when there is no file and no variable', () => {
    const home = scratchFolder();
    const { config, file, sources } = loadConfig({ env: {}, home });
    expect(file).toBeUndefined();
    expect(config.home).toBe(join(home, '.troupe'));
    expect(config.gateway).toMatchObject({
      port: 18_789,
      bind: 'loopback',
      auth: { mode: 'token' },
    });
    expect(config.agents.defaults).toMatchObject({ timeoutSeconds: 600 });
    expect(config.agents.spawnDefaults).toMatchObject({ maxSpawnDepth: 2, maxConcurrentSpawns: 3 });
    expect(config.tools.agentToAgent.enabled).toBe(false);
    expect(config.session.agentToAgent.maxPingPongTurns).toBe(5);
    expect(config.runtime).toMatchObject({ shards: 8, durability: 'process' });
    expect(sources).not.toHaveProperty('gateway.port');
  });

  it('prefers a flag to the environment, the environment to the file, and the file to the default', () => {
    const text = "{ gateway: { port: 2, auth: { token: 'of the file' } }, log: { level: 'warn' } }";
    const env = { TROUPE_PORT: '3', TROUPE_TOKEN: 'of the environment' };
    const fromFile = load(text);
    const fromEnv = load(text, { env });
    const fromFlag = load(text, { env, flags: { port: '4', token: 'of the flag' } });
    expect([fromFile, fromEnv, fromFlag].map(({ config }) => config.gateway.port)).toEqual([
      2, 3, 4,
    ]);
    expect(
      [fromFile, fromEnv, fromFlag].map(({ config }) => config.gateway.auth.token?.reveal()),
    ).toEqual(['of the file', 'of the environment', 'of the flag']);
    expect(fromFlag.config.log.level).toBe('warn');
    expect(fromFile.sources['gateway.port']).toBe(`${fromFile.file}:1:14`);
    expect(fromEnv.sources['gateway.port']).toBe('environment variable TROUPE_PORT');
    expect(fromFlag.sources['gateway.port']).toBe('--port');
  });

  it('reads troupe.json5 of the data folder that TROUPE_HOME or --data names, unless TROUPE_CONFIG names another', () => {
    const folder = scratchFolder();
    write(folder, 'a/troupe.json5', '{ gateway: { port: 1 } }');
    write(folder, 'b/troupe.json5', '{ gateway: { port: 2 } }');
    write(folder, 'other.json5', '{ gateway: { port: 3 } }');
    const env = { TROUPE_HOME: join(folder, 'a') };
    const port = (input: Parameters<typeof loadConfig>[0]) => loadConfig(input).config.gateway.port;
    expect(port({ env })).toBe(1);
    expect(port({ env, flags: { data: join(folder, 'b') } })).toBe(2);
    expect(port({ env: { ...env, TROUPE_CONFIG: join(folder, 'other.json5') } })).toBe(3);
    expect(port({ env, file: join(folder, 'b/troupe.json5') })).toBe(2);
  });

  it('treats an empty variable as unset', () => {
    expect(load('{ gateway: { port: 7 } }', { env: { TROUPE_PORT: '' } }).config.gateway.port).toBe(
      7,
    );
  });

  it('resolves relative folders from the folder of the file, and ~ as the home folder', () => {
    const { config, home } = load(
      "{ agents: { defaults: { workspace: 'work' }, agents: [{ id: 'a' }, { id: 'b', workspace: '~/b' }] } }",
    );
    const folderOf = (id: string) => workspaceFolderOf(config, address('default', 'agent', id));
    expect(['a', 'b', 'added'].map(folderOf)).toEqual([
      join(home, 'work/a'),
      join(home, 'b'),
      join(home, 'work/added'),
    ]);
    expect(['../b', '.', 'x/y'].map(folderOf)).toEqual([undefined, undefined, undefined]);
  });

  it('returns a frozen configuration', () => {
    const { config } = load("{ agents: { agents: [{ id: 'a' }] } }");
    expect(() => Object.assign(config.gateway, { port: 1 })).toThrow(TypeError);
    expect(() => Object.assign(config.agents.agents[0] ?? {}, { id: 'x' })).toThrow(TypeError);
  });

  it('accepts the examples of the design', () => {
    const { config } = load(`{
      agents: {
        defaults: { workspace: "~/.troupe/workspace", model: "anthropic/claude-opus-4-5" },
        agents: [
          { id: "main", model: "anthropic/claude-opus-4-5", workspace: "~/.troupe/workspace/main",
            thinkingLevel: "high", sandbox: { mode: "none" },
            a2a: { allowIncoming: ["helper"], allowOutgoing: ["*"], historyAccess: { helper: "summary", "*": "none" } } },
          { id: "helper", model: "claude-sonnet-4", purpose: "helps",
            sandbox: { mode: "always", allowlist: ["read", "write", "bash"], denylist: ["browser", "canvas"] } },
        ],
        routing: {
          default: { agent: "main" },
          whatsapp: { "+1234567890": { agent: "main" }, "*": { agent: "helper" } },
          telegram: { groups: { "-100123456789": { agent: "main" }, "*": { agent: "helper", requireMention: true } } },
          discord: { guilds: { "work-guild-id": { agent: "helper" } } },
        },
        spawnDefaults: {
          sandbox: { mode: "always", workspaceAccess: "ro", allowlist: ["read", "web_search"],
            denylist: ["bash", "write", "canvas", "sessions_spawn"], maxTokens: 50000, timeout: 300000 },
          maxSpawnDepth: 2, maxConcurrentSpawns: 3,
        },
      },
      gateway: { tailscale: { mode: "serve", resetOnExit: true }, bind: "loopback",
        auth: { mode: "password", password: "bí_mật", allowTailscale: true, allowLocal: true } },
      tools: { agentToAgent: { enabled: true, allow: [{ from: "main", to: "helper" }] } },
      session: { agentToAgent: { maxPingPongTurns: 3 } },
    }`);
    expect(config.gateway.auth.password?.matches('bí_mật')).toBe(true);
  });
});

describe('agents', () => {
  it('may be listed as `list`, each with a `name`', () => {
    const { config, sources } = load(`{ agents: { list: [
      { id: "main", name: "Primary Assistant", default: true, model: "anthropic/claude-sonnet" },
      { id: "researcher", name: "Research Specialist", tools: { allow: ["group:web"] },
        subagents: { allowAgents: ["*"] } },
    ] } }`);
    expect(config.agents.list).toBeUndefined();
    expect(config.agents.agents).toMatchObject([
      { id: 'main', identity: { name: 'Primary Assistant' }, default: true },
      { id: 'researcher', identity: { name: 'Research Specialist' } },
    ]);
    expect(sources['agents.agents[0].identity.name']).toMatch(/troupe\.json5:2:/);
    expect(sources['agents.agents[1].id']).toMatch(/troupe\.json5:3:/);
  });

  it('are one agent named main when none is listed', () => {
    const { config } = load('{}');
    expect(resolveAgents(config)).toMatchObject([{ id: 'main', isDefault: true }]);
  });

  it('inherit missing fields from the defaults, key by key in the sandbox', () => {
    const { config } = load(`{ agents: {
      defaults: { model: 'openai/m', thinkingLevel: 'low', timeoutSeconds: 5, sandbox: { denylist: ['web_fetch'] } },
      agents: [{ id: 'a' }, { id: 'b', model: 'anthropic/n', thinkingLevel: 'high', sandbox: { mode: 'always' } }],
    } }`);
    expect(resolveAgents(config)).toMatchObject([
      { id: 'a', model: 'openai/m', thinkingLevel: 'low', timeoutSeconds: 5, isDefault: true },
      {
        id: 'b',
        model: 'anthropic/n',
        thinkingLevel: 'high',
        sandbox: { mode: 'always', denylist: ['web_fetch'] },
      },
    ]);
  });

  it('choose the default by routing.default, else by default: true, else the first', () => {
    const list = "agents: [{ id: 'a' }, { id: 'b', default: true }, { id: 'c' }]";
    expect(
      defaultAgent(load(`{ agents: { ${list}, routing: { default: { agent: 'c' } } } }`).config).id,
    ).toBe('c');
    expect(defaultAgent(load(`{ agents: { ${list} } }`).config).id).toBe('b');
    expect(defaultAgent(load("{ agents: { agents: [{ id: 'x' }, { id: 'y' }] } }").config).id).toBe(
      'x',
    );
  });
});

describe('models', () => {
  it('are chosen by the catalog when none is configured', () => {
    const { config } = load('{}', { env: { OPENAI_API_KEY: 'k' } });
    expect(config.agents.defaults.model).toBeUndefined();
    expect(config.models.providers).toEqual({});
  });

  it('of anthropic, openai and google need neither an address nor the name of their API', () => {
    const { providers } = load(
      "{ models: { providers: { openai: { apiKey: 'k' }, anthropic: {}, google: {} } } }",
    ).config.models;
    expect(providers.google).toMatchObject({ api: 'google-generative-ai' });
    expect(providers.openai).toMatchObject({ api: 'openai-responses' });
    expect(providers.openai?.baseUrl).toBeUndefined();
    expect(providers.anthropic).toMatchObject({ api: 'anthropic-messages', models: [] });
  });

  it('may have several keys, prices, and input types', () => {
    const { local } = load(
      `{ models: { providers: { local: {
        baseUrl: 'http://h/v1', api: 'openai-completions', streamOptions: false,
        profiles: [{ id: 'spare', apiKey: { env: 'SPARE' } }],
        models: [{ id: 'm', images: false, thinking: true,
          price: { input: 1, output: 2, above: { inputTokens: 9, input: 3, output: 4 } } }],
      } } } }`,
      { env: { SPARE: 'a spare key' } },
    ).config.models.providers;
    expect(local?.profiles[0]?.apiKey.reveal()).toBe('a spare key');
    expect(local?.streamOptions).toBe(false);
    expect(local?.models[0]).toMatchObject({ images: false, thinking: true, price: { output: 2 } });
  });

  it('may not have two keys of one name', () => {
    const twice = (id: string) =>
      `{ models: { providers: { openai: {
        profiles: [{ id: 'a', apiKey: 'x' }, { id: '${id}', apiKey: 'y' }],
      } } } }`;
    expect(() => load(twice('a'))).toThrow(/profiles\[1\]\.id/);
    expect(() => load(twice('default'))).toThrow(/belongs to `apiKey`/);
  });

  it('may be named without provider, with provider, and by a listed name that contains a slash', () => {
    const { config } = load(`{
      agents: { defaults: { model: 'claude-sonnet-4' }, agents: [
        { id: 'a', model: 'openai/any' }, { id: 'b', model: 'qwen/qwen3' }, { id: 'c', model: 'offline/troupe-offline' },
      ] },
      models: { providers: { local: { baseUrl: 'http://h/v1', api: 'openai-completions', models: [{ id: 'qwen/qwen3' }] } } },
    }`);
    expect(resolveAgents(config).map(({ model }) => model)).toEqual([
      'openai/any',
      'qwen/qwen3',
      'offline/troupe-offline',
    ]);
  });
});

describe('a secret', () => {
  const text = `{ models: { providers: {
    a: { baseUrl: 'http://h', api: 'openai-completions', apiKey: { env: 'KEY' }, headers: { 'x-a': { file: 'key.txt' } } },
    b: { baseUrl: 'http://h', api: 'openai-completions', apiKey: { command: ['printf', 'from a command\\n'] } },
  } } }`;

  it('comes from a variable, a file beside the configuration, or a command', () => {
    const home = scratchFolder();
    write(home, 'key.txt', 'from a file\n');
    const file = write(home, 'troupe.json5', text);
    const { a, b } = loadConfig({ home, file, env: { KEY: 'from a variable' } }).config.models
      .providers;
    expect(a?.apiKey?.reveal()).toBe('from a variable');
    expect(a?.headers['x-a']?.reveal()).toBe('from a file');
    expect(b?.apiKey?.reveal()).toBe('from a command');
  });

  it('is in no JSON, template, inspection or log line', () => {
    const { config } = load("{ gateway: { auth: { token: 'hush-hush' } } }");
    const lines: string[] = [];
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    pino(sink).info({ config, token: config.gateway.auth.token }, 'loaded');
    const texts = [
      JSON.stringify(config),
      inspect(config, { depth: 9 }),
      String(config.gateway.auth.token),
      ...lines,
    ];
    expect(texts).toHaveLength(4);
    for (const seen of texts) {
      expect(seen).not.toContain('hush-hush');
      expect(seen).toContain('***');
    }
  });

  it('matches its own text only', () => {
    const secret = new Secret('one');
    expect(secret.matches('one')).toBe(true);
    expect(secret.matches('two')).toBe(false);
    expect(secret.matches('')).toBe(false);
  });
});
