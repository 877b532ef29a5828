/**
 * A gateway's `/mcp` on loopback, without a secret, with the catalog that the conformance suite of
 * MCP expects. Routes, sessions and the mapping to the SDK are those of the product.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import { routeListener, SERVER_OPTIONS } from '../../../channels/http/listener.ts';
import type { Catalog } from '../../../channels/mcp/catalog.ts';
import { MCP_PATH, mcpRoutes } from '../../../channels/mcp/route.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { systemClock } from '../../../runtime/index.ts';
import { FIXTURE_PROMPTS, fixtureResources } from './fixture-contents.ts';
import { FixtureTasks, taskTools } from './fixture-tasks.ts';
import { contentTools, fixtureTools } from './fixture-tools.ts';

export type FixtureServer = {
  /** such as `http://127.0.0.1:4711/mcp` */
  readonly url: string;
  /** URIs of resources to which a client subscribed */
  readonly subscribed: ReadonlySet<string>;
  readonly tasks: Pick<FixtureTasks, 'created' | 'asked'>;
  /** what the server logged as an error */
  readonly errors: readonly object[];
  close(): Promise<void>;
};

const STATE_KEY = 'a key of the fixture, only for tests';
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  arg1: ['paris', 'park', 'party'],
  id: Array.from({ length: 150 }, (_, at) => String(at)),
};

/** Callers: the bearer token is the name of the principal; without a token, it is `local`. */
const identity: Parameters<typeof mcpRoutes>[0]['identity'] = {
  authenticate({ authorization }) {
    const sub = authorization === undefined ? 'local' : /^Bearer (\w+)$/.exec(authorization)?.[1];
    if (sub === undefined)
      return Promise.reject(new TroupeError('UNAUTHORIZED', 'the token is not valid'));
    return Promise.resolve({ sub, roles: [], tenant: 'default', profile: 'A2A-Basic' });
  },
};

const fixtureCatalog = (subscribed: Set<string>, tasks: FixtureTasks): Catalog => {
  const codec = createRequestStateCodec({ key: STATE_KEY });
  const tools = [...fixtureTools(codec), ...taskTools(tasks)].toSorted((a, b) =>
    a.definition.name < b.definition.name ? -1 : 1,
  );
  return {
    tools: () => tools,
    tool: (name) => contentTools.find(({ definition }) => definition.name === name),
    resources: fixtureResources(subscribed),
    prompts: FIXTURE_PROMPTS,
    complete: ({ argument: { name, value } }) =>
      Promise.resolve((ARGUMENTS[name] ?? []).filter((one) => one.startsWith(value))),
    tasks,
    logging: true,
    verifyRequestState: (state, context) => codec.verify(state, context),
  };
};

/** @param port default: a free one */
export async function startFixtureServer(port = 0): Promise<FixtureServer> {
  const subscribed = new Set<string>();
  const errors: object[] = [];
  const log = { error: (facts: object) => void errors.push(facts) };
  const tasks = new FixtureTasks();
  const catalog = fixtureCatalog(subscribed, tasks);
  const mcp = mcpRoutes({
    loadCatalog: () => Promise.resolve(() => catalog),
    identity,
    home: 'default',
    authMode: 'none',
    publicUrl: () => origin,
    issuers: [],
    info: { name: 'troupe-fixture', version: '1.0.0' },
    clock: systemClock,
    log,
  });
  const listener = routeListener({ routes: mcp.routes, log });
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    if (!listener(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}${MCP_PATH}`,
    subscribed,
    tasks,
    errors,
    async close() {
      tasks.close();
      await mcp.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
