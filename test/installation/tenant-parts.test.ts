/** The parts that a tenant with its own sections shares with the installation, and the others. */
import { afterEach, expect, it } from 'vitest';
import { createProcessServices } from '../../compose/process-services.ts';
import { partsFor } from '../../installation/tenant-parts.ts';
import { load } from '../runtime/config/folder.ts';

const provider = (name: string) =>
  `{ providers: { house: { api: 'openai-completions', baseUrl: 'http://127.0.0.1:1/${name}', models: [{ id: 'm' }] } } }`;

const crewOf = (tenants: string) =>
  createProcessServices(
    load(`{ log: { level: 'silent' }, models: ${provider('own')}, tenants: { ${tenants} } }`)
      .config,
  );

afterEach(() => {
  delete process.env['OPENAI_API_KEY'];
});

it('cool-downs belong to the keys: tenants share them only with inherited providers', () => {
  const processServices = crewOf(
    `acme: { models: ${provider('acme')} }, plain: {}, tools: { tools: { deny: ['exec'] } }`,
  );
  const coolDowns = (tenant: string) =>
    partsFor(processServices, tenant).services.catalog.coolDowns;
  expect(coolDowns('acme')).not.toBe(coolDowns('default'));
  expect(coolDowns('plain')).toBe(coolDowns('default'));
  expect(coolDowns('tools')).toBe(coolDowns('default'));
});

it('a tenant with a section `models` receives no key from the environment', () => {
  process.env['OPENAI_API_KEY'] = 'key-of-the-environment';
  const processServices = crewOf(`acme: { models: {} , agents: {} }, plain: {}`);
  const usable = (tenant: string) =>
    partsFor(processServices, tenant)
      .services.catalog.names()
      .some((name) => name.startsWith('openai/'));
  expect(usable('plain')).toBe(true);
  expect(usable('acme')).toBe(false);
  expect(partsFor(processServices, 'acme').fallbackModel).toBe('offline/troupe-offline');
});

it.each([
  [
    `acme: { agents: { agents: [{ id: 'main', model: 'nothing' }] } }`,
    /tenants\.acme\.agents\.agents\[0\]\.model.*nothing/s,
  ],
  [`acme: { tools: { exec: { allow: ['sudo *'] } } }`, /tenants\.acme\.tools\.exec\.allow\[0\]/],
])('a refused start names the tenant: %s', (tenants, message) => {
  expect(() => crewOf(tenants)).toThrow(message);
});

it('a tenant with a section `mcp` has its own servers instead of those of the installation', () => {
  const url = (host: string) => `{ url: 'https://${host}.example/mcp' }`;
  const { config } = load(
    `{ log: { level: 'silent' }, mcp: { servers: { shared: ${url('shared')} } },
       tenants: { acme: { mcp: { servers: { own: ${url('own')} } } }, plain: {}, none: { mcp: {} } } }`,
  );
  const parts = createProcessServices(config);
  const servers = (tenant: string) => Object.keys(partsFor(parts, tenant).mcp.states());
  expect(servers('default')).toEqual(['shared']);
  expect(servers('plain')).toEqual(['shared']);
  expect(servers('acme')).toEqual(['own']);
  expect(servers('none')).toEqual([]);
});

it.each([
  [`mcp: { servers: { a: {} } }`, /mcp\.servers\.a.*`command` or `url`/s],
  [`mcp: { servers: { a: { url: 'https://u:p@x.example/' } } }`, /no user name and no password/],
  [`tools: { deny: ['mcp__gone__delete'] }`, /no tool or group has this name/],
])('a start refuses %s', (section, message) => {
  expect(() => load(`{ ${section} }`)).toThrow(message);
});
