/**
 * `/mcp`: the Model Context Protocol over streamable HTTP. A request is refused before its body is
 * read, unless its page and its caller are admitted.
 *
 * The gateway is an OAuth resource server: `/.well-known/oauth-protected-resource/mcp` (RFC 9728)
 * names the issuers whose tokens it accepts, and `aud` of a token names this gateway (RFC 8707).
 */
import { TOKEN_SCOPES } from '../../operations/access.ts';
import { errorData, ERRORS, TroupeError } from '../../protocols/errors.ts';
import type { Credentials, Identity } from '../edge/edge.ts';
import { isOperator } from '../edge/identity/operator.ts';
import { type GatewayAuth, hostAllowed, originAllowed } from '../gateway/auth/access.ts';
import { credentialsOf } from '../http/envelopes.ts';
import {
  errorHeaders,
  header,
  refusalOf,
  type Route,
  type RouteRequest,
  sendJson,
} from '../http/route.ts';
import type { McpCaller } from './catalog.ts';
import type { CatalogOf, EndpointOptions, McpEndpoint } from './endpoint.ts';

export const MCP_PATH = '/mcp';
const METADATA_PATH = `/.well-known/oauth-protected-resource${MCP_PATH}`;

export type McpRouteOptions = Omit<EndpointOptions, 'catalogOf'> & {
  /** called with the first request */
  readonly loadCatalog: () => Promise<CatalogOf>;
  readonly identity: Pick<Identity, 'authenticate'>;
  /** the installation's own tenant, whose operators administer all tenants */
  readonly home: string;
  readonly authMode: GatewayAuth['mode'];
  /** base URL of this gateway for other programs */
  readonly publicUrl: () => string;
  /** URLs of the configured issuers of tokens */
  readonly issuers: readonly string[];
};

export type McpRoutes = {
  readonly routes: readonly Route[];
  /** Ends sessions and streams; tasks continue. */
  close(this: void): Promise<void>;
};

export function mcpRoutes(options: McpRouteOptions): McpRoutes {
  let endpoint: Promise<McpEndpoint> | undefined;
  const open = async (): Promise<McpEndpoint> => {
    const [{ McpEndpoint }, catalogOf] = await Promise.all([
      import('./endpoint.ts'),
      options.loadCatalog(),
    ]);
    return new McpEndpoint({ ...options, catalogOf });
  };
  const handle = async (incoming: RouteRequest): Promise<void> => {
    assertOrigin(incoming, options);
    try {
      const caller = await callerOf(incoming, options);
      await (await (endpoint ??= open())).serve(incoming, caller);
    } catch (error) {
      const data = errorData(error);
      const { 'www-authenticate': challenge, ...headers } = errorHeaders(data);
      if (challenge === undefined || incoming.response.headersSent) throw error;
      const metadata = `${options.publicUrl()}${METADATA_PATH}`;
      return sendJson(incoming.response, ERRORS[data.code].http, refusalOf(data), {
        ...headers,
        'www-authenticate': `${challenge}, resource_metadata="${metadata}"`,
      });
    }
  };
  return {
    routes: [
      ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({ method, path: MCP_PATH, handle })),
      {
        method: 'GET',
        path: METADATA_PATH,
        handle: ({ response }) => sendJson(response, 200, metadataOf(options)),
      },
    ],
    close: async () => (await endpoint)?.close(),
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

/** @throws TroupeError FORBIDDEN for a page of another host, and for the name of another host */
function assertOrigin(
  { request }: RouteRequest,
  { authMode: mode, publicUrl }: Pick<McpRouteOptions, 'authMode' | 'publicUrl'>,
): void {
  const [origin, host] = [header(request, 'origin'), header(request, 'host')];
  const { remoteAddress = '', localAddress = '' } = request.socket;
  if (!originAllowed({ origin, host, remoteAddress, mode }))
    throw new TroupeError('FORBIDDEN', 'pages of other hosts have no access');
  if (!hostAllowed({ host, localAddress, publicUrl: publicUrl() }))
    throw new TroupeError(
      'FORBIDDEN',
      'the header Host names another host: set a2a.publicUrl to the URL that clients use',
    );
}

/** RFC 9728. */
const metadataOf = ({ publicUrl, issuers }: McpRouteOptions) => ({
  resource: `${publicUrl()}${MCP_PATH}`,
  authorization_servers: issuers,
  bearer_methods_supported: ['header'],
  scopes_supported: TOKEN_SCOPES,
  resource_name: 'troupe',
});
