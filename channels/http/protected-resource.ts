/**
 * What guards the endpoints of open protocols: pages of other hosts have no access, and a client
 * without a valid token learns from which issuers to get one. The gateway is an OAuth resource
 * server: its metadata (RFC 9728) name the issuers whose tokens it accepts, and `aud` of a token
 * names this gateway (RFC 8707).
 */
import { TOKEN_SCOPES } from '../../operations/access.ts';
import { type ErrorData, TroupeError } from '../../protocols/errors.ts';
import { type GatewayAuth, hostAllowed, originAllowed } from '../gateway/auth/access.ts';
import { errorHeaders, header, type Route, type RouteRequest, sendJson } from './route.ts';

export type ProtectedResource = {
  /** path of the endpoint, as `/mcp` */
  readonly path: string;
  /** base URL of this gateway for other programs */
  readonly publicUrl: () => string;
  readonly authMode: GatewayAuth['mode'];
  /** URLs of the configured issuers of tokens */
  readonly issuers: readonly string[];
};

const metadataPath = (path: string): string => `/.well-known/oauth-protected-resource${path}`;

/**
 * Headers of a refusal; if they say how to authenticate, with the address of the metadata.
 */
export const challengeHeaders = (
  { path, publicUrl }: ProtectedResource,
  error: ErrorData,
): Record<string, string> => {
  const { 'www-authenticate': challenge, ...headers } = errorHeaders(error);
  if (challenge === undefined) return headers;
  const metadata = `${publicUrl()}${metadataPath(path)}`;
  return { ...headers, 'www-authenticate': `${challenge}, resource_metadata="${metadata}"` };
};

export const metadataRoute = ({ path, publicUrl, issuers }: ProtectedResource): Route => ({
  method: 'GET',
  path: metadataPath(path),
  handle: ({ response }) =>
    sendJson(response, 200, {
      resource: `${publicUrl()}${path}`,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
      scopes_supported: TOKEN_SCOPES,
      resource_name: 'troupe',
    }),
});

/** @throws TroupeError FORBIDDEN for a page of another host, and for the name of another host */
export function assertOrigin(
  { request }: RouteRequest,
  { authMode: mode, publicUrl }: Pick<ProtectedResource, 'authMode' | 'publicUrl'>,
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
