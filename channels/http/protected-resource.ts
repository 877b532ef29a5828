/**
 * What guards the endpoints of open protocols: pages of other hosts have no access, and a client
 * without a valid token learns from which issuers to get one. The gateway is an OAuth resource
 * server: its metadata (RFC 9728) name the issuers whose tokens it accepts, and `aud` of a token
 * names this gateway (RFC 8707).
 */
import { TroupeError } from '../../protocols/errors.ts';
import { type GatewayAuth, originAllowed } from '../gateway/auth/access.ts';
import { header, type Route, type RouteRequest, sendJson } from './route.ts';

export type ProtectedResource = {
  /** path of the endpoint, as `/mcp` */
  readonly path: string;
  /** base URL of this gateway for other programs */
  readonly publicUrl: () => string;
  /** URLs of the configured issuers of tokens */
  readonly issuers: readonly string[];
};

const metadataPath = (path: string): string => `/.well-known/oauth-protected-resource${path}`;

/** The header `www-authenticate` of an answer 401. */
export const challengeOf = ({ path, publicUrl }: ProtectedResource): string =>
  `Bearer realm="troupe", resource_metadata="${publicUrl()}${metadataPath(path)}"`;

export const metadataRoute = ({ path, publicUrl, issuers }: ProtectedResource): Route => ({
  method: 'GET',
  path: metadataPath(path),
  handle: ({ response }) =>
    sendJson(response, 200, {
      resource: `${publicUrl()}${path}`,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
      resource_name: 'troupe',
    }),
});

/** @throws TroupeError FORBIDDEN for a page of another host */
export function assertOrigin({ request }: RouteRequest, mode: GatewayAuth['mode']): void {
  const [origin, host] = [header(request, 'origin'), header(request, 'host')];
  const remoteAddress = request.socket.remoteAddress ?? '';
  if (originAllowed({ origin, host, remoteAddress, mode })) return;
  throw new TroupeError('FORBIDDEN', 'pages of other hosts have no access');
}
