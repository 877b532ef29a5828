/** Logins to MCP servers by OAuth, with the SDK on both sides and files as in the product. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ServerLogin, type ServerLoginOptions } from '../../../agent/mcp/oauth/server-login.ts';
import { growingMask } from '../../../agent/tools/growing-mask.ts';
import { mcpLogins } from '../../../installation/mcp-logins.ts';
import { loadConfig, type McpServerConfig } from '../../../runtime/config/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from './authorization-server.ts';
import { openServers, textOf } from './servers-fixture.ts';

const home = () => scratchFolder();
const fileIn = (folder: string) => join(folder, 'mcp', 'logins', 'default', 'test', 'login.json');

function configOf(url: string, more: object = {}): McpServerConfig {
  const data = scratchFolder();
  const entry = { url, allowPrivate: true, ...more };
  const file = write(data, 'troupe.json5', JSON.stringify({ mcp: { servers: { test: entry } } }));
  return loadConfig({ env: {}, file, flags: { data } }).config.mcp.servers['test']!;
}

type Person = { readonly more?: object } & Partial<ServerLoginOptions>;

/** The login of a server in a data folder; `authorizer` follows the redirect of the page. */
const loginIn = (folder: string, url: string, { more = {}, ...options }: Person = {}) =>
  new ServerLogin({
    name: 'test',
    config: configOf(url, more),
    store: mcpLogins(folder)('default', 'test'),
    clock: systemClock,
    authorizer: {
      redirectUrl: 'http://127.0.0.1:3118/callback',
      async authorize(page) {
        const { headers } = await fetch(page, { redirect: 'manual' });
        return new URL(headers.get('location')!).searchParams;
      },
    },
    ...options,
  });

async function loggedIn(options: AuthorizationServerOptions = {}) {
  const server = await startAuthorizationServer(options);
  const folder = home();
  await loginIn(folder, server.url).logIn({});
  return { server, folder };
}

const serversOf = ({ url }: AuthorizationServer, folder: string, more: object = {}) =>
  openServers({ test: { url, allowPrivate: true, ...more } }, { logins: mcpLogins(folder) });
const simple = 'test_simple_text';

it('a server that needs a login names the command, and its tools work after the login', async () => {
  const server = await startAuthorizationServer();
  const folder = home();
  const { call, servers } = serversOf(server, folder);
  await expect(call(simple)).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining('troupe mcp login test'),
  });
  expect(server.registrations).toEqual([]);
  await loginIn(folder, server.url).logIn({});
  expect(textOf(await call(simple))).toMatch(/simple text/);
  expect((await servers.list('test')).tools.length).toBeGreaterThan(3);
  expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600);
  const [asked] = server.tokenRequests;
  expect(Object.fromEntries(asked!)).toMatchObject({
    grant_type: 'authorization_code',
    resource: server.url,
    code_verifier: expect.any(String),
  });
});

it('a refused token is refreshed, and both processes of a machine use the new one', async () => {
  const { server, folder } = await loggedIn();
  const [one, other] = [serversOf(server, folder), serversOf(server, folder)];
  server.valid.clear();
  const calls = [one, one, other, other].map(({ call }) => call(simple));
  for (const step of await Promise.all(calls)) expect(textOf(step)).toMatch(/simple text/);
  const refreshes = server.tokenRequests.filter((body) => body.has('refresh_token'));
  expect(refreshes).toHaveLength(1);
});

it('a token is refreshed before it expires', async () => {
  const { server, folder } = await loggedIn({ expiresIn: 5 });
  expect(textOf(await serversOf(server, folder).call(simple))).toMatch(/simple text/);
  expect(server.authorizations.every((one) => one !== undefined)).toBe(true);
  expect(server.tokenRequests.some((body) => body.has('refresh_token'))).toBe(true);
});

it('a refused refresh ends the login with a clear error, and is not repeated', async () => {
  const { server, folder } = await loggedIn();
  server.endLogins();
  const { call } = serversOf(server, folder);
  for (let n = 0; n < 2; n++)
    await expect(call(simple)).rejects.toThrow(/needs a (new )?login.*troupe mcp login test/);
  expect(server.tokenRequests.filter((body) => body.has('refresh_token'))).toHaveLength(1);
});

it.each([
  [503, 'not JSON', '7', { code: 'UNAVAILABLE', retryAfterMs: 7_000 }],
  [500, '{"error":"invalid_grant"}', undefined, { code: 'UNAVAILABLE' }],
  [400, '{"error":"temporarily_unavailable"}', undefined, { code: 'UNAVAILABLE' }],
  [429, '{"error":"slow_down"}', '3', { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 3_000 }],
] as const)('a refresh that gets %i %s keeps the login', async (status, body, after, error) => {
  let isBusy = false;
  const { server, folder } = await loggedIn({
    intercept(path, response) {
      if (!isBusy || path !== '/token') return false;
      response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end(body);
      return true;
    },
  });
  server.valid.clear();
  isBusy = true;
  const { call } = serversOf(server, folder);
  await expect(call(simple)).rejects.toMatchObject(error);
  isBusy = false;
  expect(textOf(await call(simple))).toMatch(/simple text/);
});

it('tokens are not sent to another URL, nor used with another client', async () => {
  const { server, folder } = await loggedIn();
  const other = await startAuthorizationServer();
  await expect(serversOf(other, folder).call(simple)).rejects.toThrow(/needs a login/);
  expect(other.authorizations.every((one) => one === undefined)).toBe(true);
  const more = { oauth: { clientId: 'another' } };
  await expect(serversOf(server, folder, more).call(simple)).rejects.toThrow(/needs a login/);
});

it('the command names the tenant that needs the login', async () => {
  const { server, folder } = await loggedIn();
  const { call } = serversOf(server, folder);
  await expect(call(simple, { tenant: 'acme' })).rejects.toThrow(/login test --tenant acme$/);
});

it('a login of a former URL is revoked at its own authorization server', async () => {
  const { server, folder } = await loggedIn();
  const login = loginIn(folder, `${server.url}/moved`);
  expect(await login.logOut()).toEqual({ wasLoggedIn: true, revoked: true });
  expect(server.revoked).toHaveLength(1);
});

it('a list is read as soon as there is a login, without a restart', async () => {
  const server = await startAuthorizationServer();
  const folder = home();
  const { refresh, stored } = serversOf(server, folder);
  await expect(refresh()).rejects.toThrow(/needs a login/);
  await loginIn(folder, server.url).logIn({});
  await eventually(() => expect(stored()).toBeDefined());
});

it('a call that needs another scope was not made, and the next login asks for it', async () => {
  let isRefused = false;
  const { server, folder } = await loggedIn({
    intercept(path, response) {
      if (!isRefused || path !== '/mcp') return false;
      const challenge = 'Bearer error="insufficient_scope", scope="write"';
      response.writeHead(403, { 'www-authenticate': challenge }).end();
      return true;
    },
  });
  const { call } = serversOf(server, folder);
  await call(simple);
  isRefused = true;
  await expect(call(simple)).rejects.toMatchObject({
    code: 'FORBIDDEN',
    message: expect.stringMatching(/scope write: troupe mcp login test/),
  });
  const pages: URL[] = [];
  const authorizer = {
    redirectUrl: 'http://127.0.0.1:3118/callback',
    async authorize(page: URL) {
      pages.push(page);
      const { headers } = await fetch(page, { redirect: 'manual' });
      return new URL(headers.get('location')!).searchParams;
    },
  };
  await loginIn(folder, server.url, { authorizer }).logIn({});
  expect(pages[0]!.searchParams.get('scope')).toBe('read write');
});

/** Refuses calls with 403 and these scopes, one after the other; the last one remains. */
const refusingScopes = (scopes: string[], after: () => boolean): AuthorizationServerOptions => ({
  intercept(path, response) {
    if (path !== '/mcp' || !after()) return false;
    const scope = scopes.length > 1 ? scopes.shift() : scopes[0];
    const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
    response.writeHead(403, { 'www-authenticate': challenge }).end();
    return true;
  },
});

it.each(['read', ''])('403 for the scope "%s" that no login adds is FORBIDDEN', async (scope) => {
  let isRefused = false;
  const { server, folder } = await loggedIn(refusingScopes([scope], () => isRefused));
  const { call } = serversOf(server, folder);
  await call(simple);
  isRefused = true;
  for (const kind of ['once', 'repeatable'] as const)
    await expect(call(simple, { class: kind })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('refused the call'),
    });
  expect((await mcpLogins(folder)('default', 'test').read())?.wantedScope).toBeUndefined();
});

it('403 for a missing scope is FORBIDDEN for a token of the configuration', async () => {
  let isRefused = false;
  const server = await startAuthorizationServer(refusingScopes(['write'], () => isRefused));
  server.valid.add('a-token');
  const { call } = serversOf(server, home(), { headers: { Authorization: 'Bearer a-token' } });
  await call(simple);
  isRefused = true;
  await expect(call(simple)).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

it('the next login asks for all scopes that were missing', async () => {
  let isRefused = false;
  const { server, folder } = await loggedIn(refusingScopes(['write', 'admin'], () => isRefused));
  const { call } = serversOf(server, folder);
  await call(simple);
  isRefused = true;
  await expect(call(simple)).rejects.toThrow(/scope write/);
  await expect(call(simple)).rejects.toThrow(/scope admin/);
  const { wantedScope } = (await mcpLogins(folder)('default', 'test').read())!;
  expect(wantedScope).toBe('read write admin');
});

it('a client of the configuration gets tokens without a person, and its secret stays there', async () => {
  const client = { id: 'troupe-client', secret: 'a-secret-of-the-client' };
  const server = await startAuthorizationServer({ client });
  const folder = home();
  const oauth = {
    grant: 'client_credentials',
    clientId: client.id,
    clientSecret: client.secret,
    scopes: ['read'],
  };
  expect(textOf(await serversOf(server, folder, { oauth }).call(simple))).toMatch(/simple text/);
  expect(Object.fromEntries(server.tokenRequests[0]!)).toMatchObject({
    grant_type: 'client_credentials',
    resource: server.url,
    scope: 'read',
  });
  expect(readFileSync(fileIn(folder), 'utf8')).not.toContain(client.secret);
  const issuer = 'https://another.example';
  const elsewhere = serversOf(server, home(), { oauth: { ...oauth, issuer } });
  const requests = server.tokenRequests.length;
  await expect(elsewhere.call(simple)).rejects.toThrow(/its authorization server is/);
  expect(server.tokenRequests).toHaveLength(requests);
});

it('a token that a server returns is masked', async () => {
  const { server, folder } = await loggedIn();
  const { tokens } = (await mcpLogins(folder)('default', 'test').read())!;
  const { call } = serversOf(server, folder);
  await call(simple);
  const step = await call('no_such_tool', { name: tokens!.access_token });
  expect(textOf(step)).not.toContain(tokens!.access_token);
});

it('a refreshed token is masked in the result of the call that refreshed it', async () => {
  const { server, folder } = await loggedIn({ expiresIn: 5 });
  const { call } = serversOf(server, folder);
  server.echoes = true;
  expect(textOf(await call(simple))).toBe('the header is Bearer ***');
});

it('tokens are known to the mask of the process, also before the server is used', async () => {
  const { folder, server } = await loggedIn();
  const file = readFileSync(fileIn(folder));
  const { tokens } = (await mcpLogins(folder)('default', 'test').read())!;
  const secrets = growingMask([]);
  const entry = { url: server.url, allowPrivate: true };
  openServers({ test: entry }, { logins: mcpLogins(folder), secrets });
  await eventually(() => expect(secrets.text(tokens!.access_token)).toBe('***'));
  const stream = secrets.byteStream();
  const printed = Buffer.concat([stream.add(file), stream.end()]).toString();
  expect(printed).toContain('"access_token":"***"');
  expect(printed).toContain('"refresh_token":"***"');
});

it.each([
  ['another issuer', { answer: { iss: 'https://evil.example' } }, /issuer/i],
  ['no issuer', { answer: { iss: '' } }, /iss/i],
  ['another state', { answer: { state: 'wrong' } }, /another state/],
  ['an error', { answer: { code: '', error: 'access_denied' } }, /access_denied/],
  ['metadata of another issuer', { metadata: { issuer: 'https://evil.example' } }, /issuer/i],
  ['no PKCE', { metadata: { code_challenge_methods_supported: ['plain'] } }, /challenge/],
  [
    'a script as page',
    { metadata: { authorization_endpoint: 'javascript:alert(1)' } },
    /invalid answer/,
  ],
  [
    'a file as page',
    { metadata: { authorization_endpoint: 'file:///etc/passwd' } },
    /its page is file:/,
  ],
  ['a page without TLS', { metadata: { authorization_endpoint: 'http://a.example/' } }, /http:/],
  ['a token endpoint without TLS', { metadata: { token_endpoint: 'http://a.example/' } }, /http/],
] as const)('a login with %s is refused', async (_, options, message) => {
  const server = await startAuthorizationServer(options);
  const folder = home();
  await expect(loginIn(folder, server.url).logIn({})).rejects.toThrow(message);
  expect(server.tokenRequests).toEqual([]);
  expect(existsSync(fileIn(folder))).toBe(false);
});

it('an authorization server cannot use troupe to reach other hosts', async () => {
  const hosts: string[] = [];
  const other = await startAuthorizationServer({
    intercept: (path) => {
      hosts.push(path);
      return false;
    },
  });
  const server = await startAuthorizationServer({
    intercept: (path, response) => {
      if (path !== '/token') return false;
      response.writeHead(307, { location: `${other.issuer}/token` }).end();
      return true;
    },
  });
  await expect(loginIn(home(), server.url).logIn({})).rejects.toThrow(/test/);
  expect(hosts).toEqual([]);
  const { url } = server;
  const closed = loginIn(home(), url, { more: { allowPrivate: false } });
  await expect(closed.logIn({})).rejects.toThrow(/not on the public internet/);
});

it('huge and slow answers of an authorization server end the login', async () => {
  const huge = await startAuthorizationServer({
    intercept: (path, response) => path === '/token' && !!response.end('x'.repeat(1_000_000)),
  });
  await expect(loginIn(home(), huge.url).logIn({})).rejects.toThrow(/more than \d+ bytes/);
  const slow = await startAuthorizationServer({
    intercept: (path, response) => path === '/token' && response.write('{'),
  });
  await expect(loginIn(home(), slow.url, { answerMs: 300 }).logIn({})).rejects.toThrow(
    /did not answer in time|abort|time/i,
  );
});

it('a damaged file counts as no login, and drafts of killed processes are removed', async () => {
  const { server, folder } = await loggedIn();
  const file = fileIn(folder);
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 40));
  writeFileSync(join(file, '..', '~draft'), 'a token');
  await expect(serversOf(server, folder).call(simple)).rejects.toThrow(/needs a login/);
  await loginIn(folder, server.url).logIn({});
  expect(readdirSync(join(file, '..')).filter((name) => name.startsWith('~'))).toEqual([]);
  expect(textOf(await serversOf(server, folder).call(simple))).toMatch(/simple text/);
});

it.each([
  'null',
  '[]',
  '{"url":"u","client":null}',
  '{"url":"u","issuer":"i","client":{"client_id":"c"},"tokens":null}',
])('a file with %s counts as no login', async (text) => {
  const { server, folder } = await loggedIn();
  writeFileSync(fileIn(folder), text);
  const login = loginIn(folder, server.url);
  expect(await login.state()).toBeUndefined();
  expect(await login.logOut()).toEqual({ wasLoggedIn: false, revoked: false });
});

it.each([1e14, 1e306])('a token that expires after %d seconds has no time', async (expiresIn) => {
  const { server, folder } = await loggedIn({ expiresIn });
  const { expiresAt } = (await loginIn(folder, server.url).state())!;
  expect(expiresAt).toBeUndefined();
});

it.each(['access_token', 'refresh_token'])('%s with a line break is refused', async (key) => {
  let isHostile = true;
  const intercept: AuthorizationServerOptions['intercept'] = (path, response) => {
    if (!isHostile || path !== '/token') return false;
    const tokens = { access_token: 'a', refresh_token: 'b', token_type: 'Bearer' };
    response.end(JSON.stringify({ ...tokens, [key]: 'hidden\r\nX-Evil: 1' }));
    return true;
  };
  const server = await startAuthorizationServer({ intercept });
  const folder = home();
  const refused = { code: 'UNAUTHORIZED', message: expect.not.stringMatching(/hidden|Evil/) };
  await expect(loginIn(folder, server.url).logIn({})).rejects.toMatchObject(refused);
  expect(existsSync(fileIn(folder))).toBe(false);
  isHostile = false;
  await loginIn(folder, server.url).logIn({});
  isHostile = true;
  server.valid.clear();
  await expect(serversOf(server, folder).call(simple)).rejects.toMatchObject(refused);
});
