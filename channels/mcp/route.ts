/**
 * `/mcp`: the Model Context Protocol over streamable HTTP. A request is refused before its body is
 * read, unless its page and its caller are admitted.
 */
import { errorData, ERRORS } from '../../protocols/errors.ts';
import { LazyValue } from '../../protocols/lazy-value.ts';
import type { Credentials, Identity } from '../edge/edge.ts';
import { isOperator } from '../edge/identity/operator.ts';
import { credentialsOf } from '../http/envelopes.ts';
import {
  assertOrigin,
  challengeHeaders,
  metadataRoute,
  type ProtectedResource,
} from '../http/protected-resource.ts';
import { refusalOf, type Route, type RouteRequest, sendJson } from '../http/route.ts';
import type { McpCaller } from './catalog.ts';
import type { CatalogOf, EndpointOptions } from './endpoint.ts';

export const MCP_PATH = '/mcp';

export type McpRouteOptions = Omit<EndpointOptions, 'catalogOf'> &
  Omit<ProtectedResource, 'path'> & {
    /** called with the first request */
    readonly loadCatalog: () => Promise<CatalogOf>;
    readonly identity: Pick<Identity, 'authenticate'>;
    /** the installation's own tenant, whose operators administer all tenants */
    readonly home: string;
  };

export type McpRoutes = {
  readonly routes: readonly Route[];
  /** Ends sessions and streams; tasks continue. */
  close(this: void): Promise<void>;
};

export function mcpRoutes(options: McpRouteOptions): McpRoutes {
  const resource = { ...options, path: MCP_PATH };
  const endpoint = new LazyValue(async () => {
    const [{ McpEndpoint }, catalogOf] = await Promise.all([
      import('./endpoint.ts'),
      options.loadCatalog(),
    ]);
    return new McpEndpoint({ ...options, catalogOf });
  });
  const handle = async (incoming: RouteRequest): Promise<void> => {
    assertOrigin(incoming, resource);
    try {
      const caller = await callerOf(incoming, options);
      await (await endpoint.get()).serve(incoming, caller);
    } catch (error) {
      const data = errorData(error);
      const headers = challengeHeaders(resource, data);
      if (!headers['www-authenticate'] || incoming.response.headersSent) throw error;
      sendJson(incoming.response, ERRORS[data.code].http, refusalOf(data), headers);
    }
  };
  return {
    routes: [
      ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({ method, path: MCP_PATH, handle })),
      metadataRoute(resource),
    ],
    close: async () => (await endpoint.made?.catch(() => undefined))?.close(),
  };
}

async function callerOf(
  incoming: RouteRequest,
  { identity, home }: Pick<McpRouteOptions, 'identity' | 'home'>,
): Promise<McpCaller> {
  const credentials: Credentials = credentialsOf(incoming);
  const caller = await identity.authenticate(credentials);
  const { remoteAddress } = incoming.request.socket;
  return {
    ...caller,
    credentials,
    isOperator: isOperator(caller),
    isHome: isOperator(caller) && caller.tenant === home,
    remoteAddress,
    disconnected: incoming.signal,
  };
}
