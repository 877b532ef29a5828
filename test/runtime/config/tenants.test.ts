import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { tenancyOf } from '../../../channels/tenancy.ts';
import {
  ownSections,
  resolveAgents,
  tenantConfig,
  tenantsWithOwn,
  workspaceFolderOf,
} from '../../../runtime/config/index.ts';
import { load, problemsOf } from './folder.ts';

it('a tenant needs only its token or its principals', () => {
  const { config } = load(
    "{ tenants: { acme: { token: 'of acme' }, other: { principals: ['tailscale:ann@example.com'] } } }",
  );
  expect(config.tenants['acme']).toMatchObject({ principals: [], channelAccounts: [] });
  const tenancy = tenancyOf(config);
  expect(tenancy.ofToken('of acme')).toBe('acme');
  expect(tenancy.ofPrincipal('tailscale:ann@example.com')).toBe('other');
});

it('a section of a tenant replaces that of the installation as a whole; the others are inherited', () => {
  const { config, home } = load(`{
    agents: { defaults: { timeoutSeconds: 5 }, agents: [{ id: 'main' }, { id: 'clerk' }] },
    tools: { deny: ['browser'], exec: { allow: ['git status'] } },
    budget: { tokensPerDay: 1000 },
    tenants: {
      acme: {
        agents: { agents: [{ id: 'main', purpose: 'acme' }] },
        tools: { exec: { allow: ['ls'] } },
        hooks: {}, skills: { folder: 'books' }, workspaces: { path: 'files' },
      },
      blue: { token: 'of blue' },
    },
  }`);
  const acme = tenantConfig(config, 'acme');
  expect(resolveAgents(acme)).toMatchObject([
    { id: 'main', purpose: 'acme', timeoutSeconds: 600, tenant: { tokensPerDay: 1000 } },
  ]);
  expect(acme.tools).toMatchObject({ deny: [], exec: { allow: ['ls'], ask: 'on-miss' } });
  expect(acme.hooks).toMatchObject({ folder: join(home, '.troupe/tenants/acme/hooks') });
  expect(acme.skills.folder).toBe(join(home, 'books'));
  expect(acme.runtime.workspaces.path).toBe(join(home, 'files'));
  expect(ownSections(config, 'acme')).toEqual(['agents', 'tools', 'hooks', 'skills']);
  for (const tenant of ['blue', 'default', 'unknown', 'constructor'])
    expect(tenantConfig(config, tenant)).toEqual(config);
  expect(tenantsWithOwn(config)).toEqual(['acme']);
});

it('a tenant that inherits agents does not inherit their folders', () => {
  const { config } = load(`{
    agents: { defaults: { workspace: '/srv/all' } },
    tenants: { acme: { agents: { agents: [{ id: 'main', workspace: '/srv/acme' }] } }, blue: { token: 'b' } },
  }`);
  const folders = ['default', 'acme', 'blue'].map((tenant) =>
    workspaceFolderOf(tenantConfig(config, tenant), address(tenant, 'agent', 'main')),
  );
  expect(folders).toEqual(['/srv/all/main', '/srv/acme', undefined]);
  expect(workspaceFolderOf(config, address('default', 'session', 'agent:main:main'))).toBe(
    undefined,
  );
});

it('keys of a tenant’s own providers are secrets, and a known provider needs no API', () => {
  const { config } = load(
    `{ tenants: { acme: { models: { providers: { anthropic: { apiKey: { env: 'K' } } } } } } }`,
    { env: { K: 'sk-acme' } },
  );
  const provider = tenantConfig(config, 'acme').models.providers['anthropic'];
  expect(provider).toMatchObject({ api: 'anthropic-messages' });
  expect(provider?.apiKey?.reveal()).toBe('sk-acme');
  expect(JSON.stringify(config)).not.toContain('sk-acme');
  expect(config.models.providers).toEqual({});
});

it.each([
  [
    `agents: { agents: [{ id: 'main' }, { id: 'main' }] }`,
    'tenants.acme.agents.agents[1].id',
    /already/,
  ],
  [`tools: { deny: ['brouser'] }`, 'tenants.acme.tools.deny[0]', /did you mean browser/],
  [
    `models: { providers: { own: { api: 'openai-completions' } } }`,
    'tenants.acme.models.providers.own.baseUrl',
    /missing/,
  ],
  [
    `tools: { agentToAgent: { allow: [{ from: 'main', to: 'spy' }] } }`,
    'tenants.acme.tools.agentToAgent.allow[0].to',
    /no agent has this id/,
  ],
  [
    `agents: { agents: [{ id: 'boss' }] }`,
    'tenants.acme',
    /tools\.agentToAgent\.allow\[0\]\.from, which it inherits, does not fit: no agent has this id/,
  ],
  [`gateway: {}`, 'tenants.acme.gateway', /unknown key/],
])('a fault in a section of a tenant is reported at its place: %s', (own, path, message) => {
  const problems = problemsOf(`{
    tools: { agentToAgent: { allow: [{ from: 'main', to: '*' }] } },
    tenants: { acme: { ${own} }, blue: { budget: {} } },
  }`);
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems.find((problem) => problem.path === path)?.message).toMatch(message);
});

it('each tenant has its own section where it has one, and no key of another tenant, for any sections', () => {
  const names = ['acme', 'blue', 'constructor'] as const;
  const sections = ['agents', 'models', 'tools', 'messages', 'budget', 'hooks', 'skills'] as const;
  const written = (owner: string, section: (typeof sections)[number]) =>
    section === 'models'
      ? { providers: { anthropic: { apiKey: `key-of-${owner}` } } }
      : section === 'agents'
        ? { agents: [{ id: 'main' }, { id: `agent-of-${owner}` }] }
        : {};
  const some = fc.subarray([...sections]);
  const owned = fc.record({ acme: some, blue: some, constructor: some });
  fc.assert(
    fc.property(owned, (own) => {
      const tenants = Object.fromEntries(
        names.map((name) => [
          name,
          Object.fromEntries(own[name].map((section) => [section, written(name, section)])),
        ]),
      );
      const models = written('default', 'models');
      const { config } = load(JSON.stringify({ models, tenants }));
      for (const name of names) {
        const whole = tenantConfig(config, name);
        const mine = new Set<string>(own[name]);
        for (const section of sections)
          if (!mine.has(section)) expect(whole[section]).toBe(config[section]);
        const key = whole.models.providers['anthropic']?.apiKey?.reveal();
        expect(key).toBe(`key-of-${mine.has('models') ? name : 'default'}`);
        const ids = resolveAgents(whole).map(({ id }) => id);
        expect(ids).toEqual(mine.has('agents') ? ['main', `agent-of-${name}`] : ['main']);
      }
    }),
    { numRuns: 50 },
  );
});
