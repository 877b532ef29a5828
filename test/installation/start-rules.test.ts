import { describe, expect, it } from 'vitest';
import { assertStartable, startRules, warningsOf } from '../../installation/start-rules.ts';
import { createProcessServices } from '../../compose/process-services.ts';
import { ConfigError } from '../../runtime/config/index.ts';
import { load, problemsOf } from '../runtime/config/folder.ts';

const problems = (text: string) => problemsOf(text, { rules: startRules });
const pathsOf = (text: string) => problems(text).map(({ path }) => path);

describe('the rules of a start', () => {
  it.each([
    ['a model of no provider', "'unknown/x'", /There is no model unknown\/x\. Known: offline/],
    ['a bare name that no provider has', "'gpt-unknown'", /There is no model gpt-unknown/],
    ['a provider without a model', "'openai/'", /There is no model openai\//],
    ['a model that the offline provider does not have', "'offline/echo'", /There is no model/],
  ])('refuse %s, for an agent, its fallbacks and the defaults', (_, name, why) => {
    const found = problems(`{ agents: {
      defaults: { model: ${name}, fallbacks: ['openai/gpt-5', ${name}] },
      agents: [{ id: 'a', model: ${name} }],
    } }`);
    expect(found.map(({ path }) => path)).toEqual([
      'agents.defaults.model',
      'agents.defaults.fallbacks[1]',
      'agents.agents[0].model',
    ]);
    for (const { message, where } of found) {
      expect(message).toMatch(why);
      expect(where).toMatch(/^troupe\.json5:\d/);
    }
  });

  it('accept newer models of known providers, and any model of a configured server', () => {
    const provider = "local: { baseUrl: 'http://h/v1', api: 'openai-completions' }";
    for (const name of ['anthropic/claude-of-tomorrow', 'local/what-ever', 'gpt-5'])
      expect(
        problems(
          `{ models: { providers: { ${provider} } }, agents: { defaults: { model: '${name}' } } }`,
        ),
      ).toEqual([]);
  });

  it('refuse a command pattern that matches nothing, with its place', () => {
    const allow = "exec: { allow: ['git status', 'sudo *'] }";
    expect(
      pathsOf(`{ tools: { ${allow} }, agents: { agents: [{ id: 'a', tools: { ${allow} } }] } }`),
    ).toEqual(['tools.exec.allow[1]', 'agents.agents[0].tools.exec.allow[1]']);
  });

  it('apply to a process that is started without a file', () => {
    const { config } = load(
      "{ agents: { defaults: { model: 'unknown/x', fallbacks: ['no/y'] } } }",
    );
    for (const start of [() => assertStartable(config), () => createProcessServices(config)]) {
      expect(start).toThrow(ConfigError);
      expect(start).toThrow(/2 problems[^]*unknown\/x[^]*no\/y/);
    }
  });
});

describe('one report', () => {
  it('names mistakes of every kind, also within one section', () => {
    expect(
      pathsOf(`{
        nonsense: 1,
        gateway: { port: 'many', bind: 'everywhere' },
        agents: {
          defaults: { model: 'unknown/x', timeoutSeconds: 'long' },
          agents: [
            { id: 'a', modle: 'x' },
            { model: 'unknown/y' },
            { id: 'a', fallbacks: ['openai/gpt-5', 'unknown/z'] },
            'b',
          ],
        },
        models: { providers: { local: { baseUrl: 'nowhere' } } },
        tools: { deny: ['web_serch'], exec: { allow: 5 } },
      }`).sort(),
    ).toEqual(
      [
        'nonsense',
        'gateway.port',
        'gateway.bind',
        'agents.defaults.timeoutSeconds',
        'agents.defaults.model',
        'agents.agents[0].modle',
        'agents.agents[1].id',
        'agents.agents[1].model',
        'agents.agents[2].id',
        'agents.agents[2].fallbacks[1]',
        'agents.agents[3]',
        'models.providers.local.api',
        'models.providers.local.baseUrl',
        'tools.deny[0]',
        'tools.exec.allow',
      ].sort(),
    );
  });

  it('reports no consequence of another mistake', () => {
    expect(pathsOf("{ agents: { agents: 5, routing: { default: { agent: 'main' } } } }")).toEqual([
      'agents.agents',
    ]);
    expect(pathsOf('{ agents: { agents: [{}, {}] } }')).toEqual([
      'agents.agents[0].id',
      'agents.agents[1].id',
    ]);
    expect(pathsOf("{ gateway: { auth: { mode: 'password', password: 5 } } }")).toEqual([
      'gateway.auth.password',
    ]);
    expect(pathsOf("{ gateway: { bind: 5, auth: { mode: 'none' } } }")).toEqual(['gateway.bind']);
    expect(
      pathsOf(
        "{ models: { providers: { local: 5 } }, agents: { defaults: { model: 'local/m' } } }",
      ),
    ).toEqual(['models.providers.local']);
    expect(pathsOf('[]')).toEqual(['']);
  });
});

describe('a main session that several people share', () => {
  const warned = (session: string, accounts: string) =>
    warningsOf(
      load(`{ session: { ${session} }, channels: { webhook: { accounts: { ${accounts} } } } }`)
        .config,
    ).map(({ path, message }) => `${path}: ${message.split(' shares')[0]}`);
  const account = (policy: string) => `{ secret: 'a text of 24 characters!', ${policy} }`;

  it('causes a warning that names the accounts', () => {
    const accounts = `a: ${account('')}, b: ${account("dmPolicy: 'open'")}, c: ${account("dmPolicy: 'disabled'")}`;
    expect(warned('', accounts)).toEqual([
      'session.dmScope: everyone who may write to webhook:a, webhook:b',
    ]);
    expect(warned("dmScope: 'per-channel-peer'", accounts)).toEqual([]);
  });

  it('is no warning when one person may write', () => {
    const one = account("dmPolicy: 'allowlist', allowFrom: ['42']");
    expect(warned('', `a: ${one}`)).toEqual([]);
    for (const policy of ["allowFrom: ['42', '43']", "allowFrom: ['*']"])
      expect(warned('', `a: ${account(`dmPolicy: 'allowlist', ${policy}`)}`)).toHaveLength(1);
    expect(warned('', `a: ${account('enabled: false')}`)).toEqual([]);
  });
});
