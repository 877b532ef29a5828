import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../../runtime/config/index.ts';
import { report } from '../../../runtime/config/checks/problems.ts';
import { problemsOf, scratchFolder } from './folder.ts';

const paths = (text: string) => problemsOf(text).map(({ path }) => path);

describe('a report', () => {
  it('reports every problem with path, value, allowed values and position', () => {
    const problems = problemsOf(`{
  gatway: {},
  gateway: { port: 70000, bind: 'lann' },
  agents: { defaults: { timeoutSeconds: 'long' } },
}`);
    expect(problems).toEqual([
      {
        path: 'gatway',
        message: 'unknown key; did you mean gateway?',
        allowed:
          'agents, gateway, session, messages, channels, tools, hooks, plugins, skills, budget, memory, models, runtime, nats, cluster, a2a, mcp, agent2agent, retention, tenants, log',
        where: 'troupe.json5:2:3',
      },
      {
        path: 'agents.defaults.timeoutSeconds',
        message: 'is not allowed',
        value: '"long"',
        allowed: 'a whole number from 1 to 172800',
        where: 'troupe.json5:4:25',
      },
      {
        path: 'gateway.port',
        message: 'is not allowed',
        value: '70000',
        allowed: 'a whole number from 0 to 65535',
        where: 'troupe.json5:3:14',
      },
      {
        path: 'gateway.bind',
        message: 'is not allowed',
        value: '"lann"',
        allowed: '"loopback", "lan", "custom"',
        where: 'troupe.json5:3:27',
      },
    ]);
    expect(report(problems)).toContain('  gateway.port = 70000 (troupe.json5:3:14)');
    expect(report(problems)).toContain('      allowed: a whole number from 0 to 65535');
  });

  it('names the variable or the flag that a wrong value came from', () => {
    expect(problemsOf('{}', { env: { TROUPE_PORT: 'http' } })).toMatchObject([
      { path: 'gateway.port', value: '"http"', where: 'environment variable TROUPE_PORT' },
    ]);
    expect(problemsOf('{ gateway: { port: 1 } }', { flags: { port: '-1' } })).toMatchObject([
      { path: 'gateway.port', value: '"-1"', where: '--port' },
    ]);
  });

  it('reports the position at which the text is no longer valid JSON5', () => {
    expect(problemsOf('{\n  gateway: {\n    port: !\n')).toEqual([
      {
        path: '',
        message: "is not valid JSON5: invalid character '!'",
        where: 'troupe.json5:3:11',
      },
    ]);
    expect(problemsOf('')).toMatchObject([{ message: 'is not valid JSON5: invalid end of input' }]);
  });

  it('refuses a document or section that is not an object', () => {
    for (const text of ['[]', '7', 'null', '"x"']) {
      expect(problemsOf(text)).toMatchObject([
        { path: '', message: 'must hold one object: { … }' },
      ]);
    }
    expect(paths('{ gateway: null, agents: [], log: 3 }')).toEqual(['agents', 'gateway', 'log']);
  });

  it('reports once that a file is missing, if it was named explicitly', () => {
    const file = `${scratchFolder()}/none.json5`;
    expect(() => loadConfig({ env: {}, file })).toThrow(ConfigError);
    expect(() => loadConfig({ env: {}, file })).toThrow(/there is no such file/);
    expect(() => loadConfig({ env: {}, file: scratchFolder() })).toThrow(
      /is a folder\. Docker makes one/,
    );
  });

  it('refuses a duplicate key, which JSON5 would accept silently', () => {
    expect(problemsOf("{ log: { level: 'info' },\n  log: { level: 'warn' } }")).toMatchObject([
      { path: 'log', where: 'troupe.json5:2:3' },
      { path: 'log.level', where: 'troupe.json5:2:10' },
    ]);
  });

  it('refuses __proto__, which would vanish into the prototype', () => {
    expect(paths("{ models: { providers: { '__proto__': {} } } }")).toContain(
      'models.providers.__proto__',
    );
  });
});

describe('a secret in a problem', () => {
  it('is never shown, even in the wrong place or under a misspelled key', () => {
    const problems = [
      ...problemsOf("{ gateway: { auth: 'hush-hush' } }"),
      ...problemsOf("{ gateway: { auth: { tokn: 'hush-hush' } } }"),
      ...problemsOf("{ gateway: { auth: { token: ['hush-hush'] } } }"),
      ...problemsOf("{ gateway: 'hush-hush' }"),
      ...problemsOf("{ models: { providers: { a: { apiKey: { value: 'hush-hush' } } } } }"),
      ...problemsOf("{ models: { providers: { a: 'hush-hush' } } }"),
      ...problemsOf(
        "{ gateway: { auth: { token: { command: ['sh', '-c', 'echo hush-hush; exit 3'] } } } }",
      ),
    ];
    expect(problems.length).toBeGreaterThanOrEqual(7);
    expect(JSON.stringify(problems)).not.toContain('hush-hush');
  });

  it('that cannot be resolved says which variable, file or command failed and how', () => {
    const messages = [
      "{ env: 'NOT_SET' }",
      "{ file: 'none.txt' }",
      "{ command: ['sh', '-c', 'exit 3'] }",
      "{ command: ['/no/such/program'] }",
    ].map((reference) => problemsOf(`{ gateway: { auth: { token: ${reference} } } }`)[0]);
    expect(messages.map((problem) => problem?.path)).toEqual(Array(4).fill('gateway.auth.token'));
    expect(messages[0]?.message).toBe('the environment variable NOT_SET is not set');
    expect(messages[1]?.message).toMatch(/none\.txt cannot be read \(ENOENT\)$/);
    expect(messages[2]?.message).toBe('the command sh failed (exit code 3)');
    expect(messages[3]?.message).toBe('the command /no/such/program failed (ENOENT)');
  });
});

describe('keys that must agree', () => {
  const refused: [name: string, text: string, path: string, message: RegExp][] = [
    [
      'a public bind without auth',
      "{ gateway: { bind: 'lan', auth: { mode: 'none' } } }",
      'gateway.auth.mode',
      /all be accepted/,
    ],
    [
      'a custom public bind without auth',
      "{ gateway: { bind: 'custom', customBindHost: '192.168.1.2', auth: { mode: 'none' } } }",
      'gateway.auth.mode',
      /all be accepted/,
    ],
    [
      'a custom bind without an address',
      "{ gateway: { bind: 'custom' } }",
      'gateway.customBindHost',
      /is missing/,
    ],
    [
      'mode password without a password',
      "{ gateway: { auth: { mode: 'password' } } }",
      'gateway.auth.password',
      /is missing/,
    ],
    [
      'Tailscale Serve on a public bind',
      "{ gateway: { bind: 'lan', tailscale: { mode: 'serve' } } }",
      'gateway.bind',
      /forwards to this machine/,
    ],
    [
      'Tailscale Funnel without auth',
      "{ gateway: { auth: { mode: 'none' }, tailscale: { mode: 'funnel' } } }",
      'gateway.auth.mode',
      /whole internet/,
    ],
    [
      'Tailscale Serve without auth',
      "{ gateway: { auth: { mode: 'none' }, tailscale: { mode: 'serve' } } }",
      'gateway.auth.mode',
      /whole tailnet/,
    ],
    [
      'a proxy in front of a gateway without auth',
      "{ gateway: { auth: { mode: 'none', trustedProxy: { proxies: ['127.0.0.1'] } } } }",
      'gateway.auth.trustedProxy',
      /forwarded connections are refused/,
    ],
    [
      'users of the tailnet at a gateway without auth',
      "{ gateway: { auth: { mode: 'none', allowTailscale: true } } }",
      'gateway.auth.allowTailscale',
      /forwarded connections are refused/,
    ],
    [
      'two agents of one id',
      "{ agents: { agents: [{ id: 'a' }, { id: 'a' }] } }",
      'agents.agents[1].id',
      /agents\.agents\[0\] has this id/,
    ],
    [
      'two default agents',
      "{ agents: { agents: [{ id: 'a', default: true }, { id: 'b', default: true }] } }",
      'agents.agents[1].default',
      /there can be one/,
    ],
    [
      'an agent without an id in the other list',
      "{ agents: { list: [{ name: 'x' }] } }",
      'agents.list[0].id',
      /missing/,
    ],
    [
      'two lists of agents',
      "{ agents: { list: [{ id: 'a' }], agents: [{ id: 'b' }] } }",
      'agents.list',
      /put all agents into one list/,
    ],
    [
      'two names of an agent',
      "{ agents: { agents: [{ id: 'a', name: 'A', identity: { name: 'B' } }] } }",
      'agents.agents[0].name',
      /remove one/,
    ],
    [
      'two agents with one folder',
      "{ agents: { agents: [{ id: 'a', workspace: '/srv/a' }, { id: 'b', workspace: '/srv/a/b' }] } }",
      'agents.agents[1].workspace',
      /overlaps with \/srv\/a of another agent/,
    ],
    [
      'a tenant’s agent with a folder of the installation',
      "{ agents: { defaults: { workspace: '/srv' } }, tenants: { acme: { agents: { defaults: { workspace: '/srv/acme' } } } } }",
      'tenants.acme.agents.defaults.workspace',
      /overlaps with \/srv of another agent/,
    ],
    [
      'a folder of an agent that contains the data folder',
      "{ agents: { agents: [{ id: 'a', workspace: '~' }] } }",
      'agents.agents[0].workspace',
      /contains the data folder/,
    ],
    [
      'a folder of an agent whose files are synchronized',
      "{ agents: { defaults: { workspace: '/srv' } }, runtime: { workspaces: { provider: 'synced' } } }",
      'agents.defaults.workspace',
      /have no folder/,
    ],
    [
      'a Slack account without a way to receive',
      "{ channels: { slack: { accounts: { main: { botToken: 'x' } } } } }",
      'channels.slack.accounts.main',
      /appToken.*signingSecret/,
    ],
    [
      'one half of a Telegram webhook',
      "{ channels: { telegram: { accounts: { main: { token: 'x', webhookSecret: 's' } } } } }",
      'channels.telegram.accounts.main',
      /set the other one/,
    ],
    [
      'an unknown time zone of a reset',
      "{ session: { reset: { atHour: 4, timeZone: 'Asia/Saigonn' } } }",
      'session.reset.timeZone',
      /no time zone/,
    ],
    [
      'a sender that is two people',
      "{ session: { identityLinks: { ann: ['telegram:4'], bob: ['slack:U1', 'telegram:4'] } } }",
      'session.identityLinks.bob[1]',
      /identityLinks\.ann has this sender/,
    ],
    [
      'a person whose name could be an id of a channel',
      "{ session: { identityLinks: { 'telegram:4': ['telegram:4'] } } }",
      'session.identityLinks["telegram:4"]',
      /cannot be used as a name/,
    ],
    [
      'a route to an unknown agent',
      "{ agents: { agents: [{ id: 'helper' }], routing: { whatsapp: { '+1': { agent: 'helpr' } } } } }",
      'agents.routing.whatsapp["+1"].agent',
      /did you mean helper\?/,
    ],
    [
      'a default route to an unknown agent',
      "{ agents: { routing: { default: { agent: 'x' } } } }",
      'agents.routing.default.agent',
      /no agent has this id/,
    ],
    [
      'a wildcard as a route',
      "{ agents: { routing: { default: { agent: '*' } } } }",
      'agents.routing.default.agent',
      /not allowed/,
    ],
    [
      'a peer that is an unknown agent',
      "{ agents: { agents: [{ id: 'a', a2a: { allowIncoming: ['b'] } }] } }",
      'agents.agents[0].a2a.allowIncoming[0]',
      /no agent/,
    ],
    [
      'a reader that is an unknown agent',
      "{ agents: { agents: [{ id: 'a', a2a: { historyAccess: { b: 'full' } } }] } }",
      'agents.agents[0].a2a.historyAccess.b',
      /no agent/,
    ],
    [
      'a pair with an unknown agent',
      "{ tools: { agentToAgent: { allow: [{ from: 'main', to: 'b' }] } } }",
      'tools.agentToAgent.allow[0].to',
      /no agent/,
    ],
    [
      'an unknown tool',
      "{ tools: { deny: ['web_serch'] } }",
      'tools.deny[0]',
      /did you mean web_search\?/,
    ],
    [
      'an unknown tool in a sandbox',
      "{ agents: { defaults: { sandbox: { denylist: ['group:nets'] } } } }",
      'agents.defaults.sandbox.denylist[0]',
      /no tool or group/,
    ],
    [
      'the name of the offline provider',
      "{ models: { providers: { offline: { baseUrl: 'http://h', api: 'openai-completions' } } } }",
      'models.providers.offline',
      /take another/,
    ],
    [
      'a model listed twice',
      "{ models: { providers: { a: { baseUrl: 'http://h', api: 'openai-completions', models: [{ id: 'm' }, { id: 'm' }] } } } }",
      'models.providers.a.models[1].id',
      /already/,
    ],
    [
      'more ping-pong turns than the hard limit',
      '{ session: { agentToAgent: { maxPingPongTurns: 6 } } }',
      'session.agentToAgent.maxPingPongTurns',
      /not allowed/,
    ],
    [
      'an own provider without an address',
      "{ models: { providers: { a: { api: 'openai-completions' } } } }",
      'models.providers.a.baseUrl',
      /is missing/,
    ],
    [
      'an agent id with a colon',
      "{ agents: { agents: [{ id: 'a:b' }] } }",
      'agents.agents[0].id',
      /not allowed/,
    ],
  ];

  it.each(refused)('refuse %s', (_name, text, path, message) => {
    expect(problemsOf(text)).toContainEqual(
      expect.objectContaining({ path, message: expect.stringMatching(message) as string }),
    );
  });

  it('a name that is not allowed is reported with the names that are', () => {
    const found = problemsOf("{ mcp: { servers: { 'my notes': { command: 'x' } } } }");
    expect(found).toContainEqual(
      expect.objectContaining({
        path: 'mcp.servers["my notes"]',
        allowed: expect.stringContaining('a name of lower-case letters and digits, with') as string,
      }),
    );
  });

  it('no auth is accepted where only this machine can reach the gateway', () => {
    expect(paths("{ gateway: { auth: { mode: 'none' } } }")).toEqual([]);
    expect(
      paths("{ gateway: { bind: 'custom', customBindHost: '127.0.0.2', auth: { mode: 'none' } } }"),
    ).toEqual([]);
  });

  it('are still checked in sections that are well-formed when another one is not', () => {
    expect(
      paths("{ log: { level: 'loud' }, gateway: { bind: 'lan', auth: { mode: 'none' } } }"),
    ).toEqual(['log.level', 'gateway.auth.mode']);
  });
});

describe('an age of retention', () => {
  it('is a number with a unit, or keep, also of a tenant', () => {
    const text = `{
  retention: { transcripts: '90d', audit: '1y', history: 'keep', artifacts: '90', deadLetters: '0d' },
  tenants: { acme: { retention: { transcripts: 'never', itemsPerHour: 5 } } },
}`;
    expect(paths(text).toSorted()).toEqual([
      'retention.artifacts',
      'retention.deadLetters',
      'tenants.acme.retention.itemsPerHour',
      'tenants.acme.retention.transcripts',
    ]);
  });
});
