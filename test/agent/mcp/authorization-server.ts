/**
 * An authorization server and the MCP server that it protects, on loopback. It checks what OAuth
 * 2.1 demands: PKCE, redirect URIs, `resource`, and refresh tokens that are used once.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type FixtureServer, startFixtureServer } from '../../channels/mcp/fixture-server.ts';

export type AuthorizationServerOptions = {
  /** seconds; default 3,600 */
  readonly expiresIn?: number;
  /** of answers, instead of the right ones */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** of the redirect to the client */
  readonly answer?: Readonly<Record<string, string>>;
  /** answers requests first; returns whether it did */
  readonly intercept?: (path: string, response: ServerResponse) => boolean;
  /** called when tokens were made and are not yet sent */
  readonly onGrant?: (body: URLSearchParams) => void;
  readonly client?: { readonly id: string; readonly secret: string };
};

export type AuthorizationServer = {
  /** of the MCP server */
  readonly url: string;
  readonly issuer: string;
  /** bodies of the requests for tokens */
  readonly tokenRequests: URLSearchParams[];
  readonly registrations: unknown[];
  /** tokens that are valid */
  readonly valid: Set<string>;
  readonly revoked: string[];
  /** requests of the MCP server: their Authorization header */
  readonly authorizations: (string | undefined)[];
  /** calls of tools return their Authorization header */
  echoes: boolean;
  /** every refresh token is refused from now on */
  endLogins(): void;
};

type Code = { readonly challenge: string; readonly redirect: string; readonly resource: string };

export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const fixture: FixtureServer = await startFixtureServer();
  const [codes, refresh] = [new Map<string, Code>(), new Set<string>()];
  const state = {
    tokenRequests: [] as URLSearchParams[],
    registrations: [] as unknown[],
    valid: new Set<string>(),
    revoked: [] as string[],
    authorizations: [] as (string | undefined)[],
    echoes: false,
  };
  const tokens = () => {
    const [access, next] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    state.valid.add(access);
    refresh.add(next);
    const { expiresIn = 3_600 } = options;
    return {
      access_token: access,
      refresh_token: next,
      token_type: 'Bearer',
      expires_in: expiresIn,
    };
  };
  const grant = (body: URLSearchParams): object => {
    const [type, code] = [body.get('grant_type'), codes.get(body.get('code') ?? '')];
    if (body.get('resource') !== url) return { error: 'invalid_target' };
    if (type === 'client_credentials') return { ...tokens(), refresh_token: undefined };
    if (type === 'refresh_token')
      return refresh.delete(body.get('refresh_token') ?? '')
        ? tokens()
        : { error: 'invalid_grant' };
    codes.delete(body.get('code') ?? '');
    const hash = createHash('sha256').update(body.get('code_verifier') ?? '');
    const fits =
      code?.challenge === hash.digest('base64url') && code.redirect === body.get('redirect_uri');
    return fits ? tokens() : { error: 'invalid_grant', error_description: 'PKCE failed' };
  };
  const authorize = ({ searchParams: query }: URL): string => {
    const to = new URL(query.get('redirect_uri')!);
    const code = randomUUID();
    codes.set(code, {
      challenge: query.get('code_challenge')!,
      redirect: query.get('redirect_uri')!,
      resource: query.get('resource')!,
    });
    const answer = { code, state: query.get('state')!, iss: issuer, ...options.answer };
    for (const [key, value] of Object.entries(answer)) if (value) to.searchParams.set(key, value);
    return to.href;
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const at = new URL(request.url ?? '/', issuer);
    const body = await textOf(request);
    const json = (value: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (options.intercept?.(at.pathname, response)) return;
    if (at.pathname === '/.well-known/oauth-protected-resource/mcp')
      return json({ resource: url, authorization_servers: [issuer], scopes_supported: ['read'] });
    if (at.pathname === '/.well-known/oauth-authorization-server')
      return json({ ...metadataOf(issuer), ...options.metadata });
    if (at.pathname === '/register') {
      state.registrations.push(JSON.parse(body));
      return json({ ...(JSON.parse(body) as object), client_id: `client-${randomUUID()}` }, 201);
    }
    if (at.pathname === '/authorize')
      return response.writeHead(302, { location: authorize(at) }).end();
    if (at.pathname === '/revoke') {
      state.revoked.push(new URLSearchParams(body).get('token') ?? '');
      return json({});
    }
    if (at.pathname === '/token') {
      const asked = new URLSearchParams(body);
      state.tokenRequests.push(asked);
      const { client } = options;
      const basic = `Basic ${Buffer.from(`${client?.id}:${client?.secret}`).toString('base64')}`;
      if (client && request.headers.authorization !== basic)
        return json({ error: 'invalid_client' }, 401);
      const granted = grant(asked);
      options.onGrant?.(asked);
      return json(granted, 'error' in granted ? 400 : 200);
    }
    const { authorization } = request.headers;
    state.authorizations.push(authorization);
    if (!state.valid.has(authorization?.replace('Bearer ', '') ?? '')) {
      const challenge = `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`;
      return response.writeHead(401, { 'www-authenticate': challenge }).end();
    }
    const { id, method } = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    if (made.echoes && method === 'tools/call') {
      const content = [{ type: 'text', text: `the header is ${authorization}` }];
      return json({ jsonrpc: '2.0', id, result: { resultType: 'complete', content } });
    }
    await forward(fixture.url, request, body, response).catch(() => response.destroy());
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${issuer}/mcp`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await fixture.close();
  });
  const made = {
    url,
    issuer,
    ...state,
    endLogins() {
      refresh.clear();
      state.valid.clear();
    },
  };
  return made;
}

const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  revocation_endpoint: `${issuer}/revoke`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
  authorization_response_iss_parameter_supported: true,
});

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

/** Passes a request on to the fixture server. */
async function forward(
  to: string,
  { method = 'GET', headers }: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const passed = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const answer = await fetch(to, {
    method,
    headers: passed.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])) as [],
    signal: gone.signal,
    ...(method === 'POST' && { body }),
  });
  const type = answer.headers.get('content-type') ?? 'text/plain';
  response.writeHead(answer.status, { 'content-type': type });
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
}
