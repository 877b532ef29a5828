/** The documents of the entry point, compared with the routes of a complete troupe. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Type } from '@sinclair/typebox';
import { expect, it, onTestFinished } from 'vitest';
import { defineAction } from '../../../actors/index.ts';
import { createProcessServices } from '../../../compose/process-services.ts';
import { openA2a } from '../../../compose/a2a.ts';
import { openTaskParts } from '../../../compose/task-parts.ts';
import { startTroupe } from '../../../main.ts';
import { type Config, loadConfig } from '../../../runtime/config/index.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';

const TOKEN = 'the-gateways-own-token';

type Operation = { readonly security?: readonly unknown[] };
type OpenApi = {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};
const published = (name: string) =>
  JSON.parse(
    readFileSync(
      fileURLToPath(new URL(`../../../protocols/schemas/${name}`, import.meta.url)),
      'utf8',
    ),
  ) as OpenApi;

const configOf = (): Config => {
  const flags = { data: scratchFolder(), port: '0', token: TOKEN };
  const { config } = loadConfig({ env: {}, flags });
  return { ...config, log: { ...config.log, level: 'error' } };
};

/** Such as `GET /v1/tasks/{}`, without the names of parameters. */
const unnamed = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');
const documented = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${unnamed(path)}`),
  );

it('the OpenAPI document names every route of the entry point, and no others', async () => {
  const config = configOf();
  const processServices = createProcessServices(config);
  const tasks = await openTaskParts(config, processServices);
  const system = await createSystem({
    ...(await openEmbedded({ path: scratchFolder() })),
    ...processServices.options,
    services: { ...processServices.services, ...tasks.services },
    shards: 1,
  });
  const a2a = openA2a({ config, system, processServices, tasks }, ['http']);
  onTestFinished(async () => {
    await a2a.close();
    await system.stop();
  });
  const routes = [...a2a.routes, ...(await a2a.laterRoutes())]
    // MCP and the Agent2Agent protocol have documents of their own.
    .filter(({ path }) => !/\/mcp$|\/a2a(\/|$)|\/agent-card\.json$/.test(path))
    .map(({ method, path }) => `${method} ${unnamed(path)}`);
  // The gateway itself serves these two.
  const own = ['GET /healthz', 'GET /readyz'];
  expect(documented(published('openapi.json')).toSorted()).toEqual([...routes, ...own].toSorted());
});

it('exactly the routes that the document calls public are public', async () => {
  const troupe = await startTroupe(configOf());
  onTestFinished(() => troupe.stop());
  const { origin } = new URL(troupe.url);
  for (const [path, methods] of Object.entries(published('openapi.json').paths)) {
    for (const [method, { security }] of Object.entries(methods)) {
      const { status } = await fetch(origin + path.replaceAll(/\{\w+\}/g, '1'), { method });
      const isOpen = method === 'post' ? status < 400 : status !== 401;
      expect([path, method, isOpen]).toEqual([path, method, security?.length === 0]);
    }
  }
});

it('the documents are public, and with a token list all offered actions of the tenant', async () => {
  const own = defineAction({
    action: 'kiosk.sell_paper',
    version: '1.0.0',
    description: 'Sells a paper.',
    agent: 'kiosk',
    schemas: { '1.0': Type.Object({ title: Type.String() }) },
    perform: () => Promise.resolve('sold'),
  });
  const troupe = await startTroupe(configOf(), { actions: [own] });
  onTestFinished(() => troupe.stop());
  const { origin } = new URL(troupe.url);
  const get = (path: string, token?: string) =>
    fetch(origin + path, token ? { headers: { authorization: `Bearer ${token}` } } : {});

  const answer = await get('/openapi.json');
  expect(answer.headers.get('cache-control')).toContain('public');
  const open = (await answer.json()) as OpenApi;
  expect(open).toEqual({ ...published('openapi.json'), servers: [{ url: origin }] });
  const tenants = (await (await get('/openapi.json', TOKEN)).json()) as OpenApi;
  expect(Object.keys(tenants.components.schemas)).toContain('kiosk.sell_paper.v1.1.0');
  expect(Object.keys(open.components.schemas)).not.toContain('kiosk.sell_paper.v1.1.0');
  expect((await get('/openapi.json', 'nonsense')).status).toBe(401);

  expect(await (await get('/asyncapi.json')).json()).toEqual(published('asyncapi.json'));
  expect(JSON.stringify(await (await get('/asyncapi.json', TOKEN)).json())).toContain('"kiosk"');
});

it('the documents contain the shipped agents that are served here, and no others', async () => {
  const config = configOf();
  const troupe = await startTroupe({ ...config, a2a: { ...config.a2a, agents: ['conformance'] } });
  onTestFinished(() => troupe.stop());
  const answer = await fetch(`${new URL(troupe.url).origin}/openapi.json`);
  const names = Object.keys(((await answer.json()) as OpenApi).components.schemas);
  expect(names).toContain('conformance.echo_payload.v1.1.0');
  expect(names.filter((name) => name.startsWith('agent_data.'))).toEqual([]);
});
