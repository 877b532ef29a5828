/** `troupe mcp login` and `logout`: logins of this user to MCP servers, by OAuth. */
import { mayLogIn, ServerLogin } from '../../agent/mcp/oauth/server-login.ts';
import { createSecretMask } from '../../agent/tools/secret-mask.ts';
import { knownSecrets } from '../../installation/known-secrets.ts';
import { mcpLogins } from '../../installation/mcp-logins.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { plainText } from '../../protocols/plain-text.ts';
import type { Config, McpServerConfig } from '../../runtime/config/index.ts';
import { systemClock } from '../../runtime/index.ts';
import { openBrowser } from '../open-browser.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant, type TenantOptions } from '../options.ts';
import { printJson } from '../output.ts';
import { revokedText, untilText } from './login-state.ts';
import { openRedirectListener, type RedirectListener } from './redirect-listener.ts';
import { known } from './servers.ts';

/** As parsed by commander. */
export type LoginOptions = TenantOptions & {
  readonly browser: boolean;
  /** seconds */
  readonly timeout: number;
};

/** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT, UNAUTHORIZED, UNAVAILABLE, DEADLINE_EXCEEDED */
export async function login(name: string, options: LoginOptions): Promise<number> {
  const { config } = await loadForTenant(options);
  const server = serverOf(config, name);
  const { tenant = DEFAULT_TENANT } = options;
  const store = mcpLogins(config.home)(tenant, name);
  const about = { name, tenant, config: server, store, clock: systemClock };
  const challenge = await new ServerLogin(about).challenge();
  const listener = await listenerFor(server, (await store.read())?.client);
  try {
    const authorizer = listener && {
      redirectUrl: listener.redirectUrl,
      authorize: (page: URL) => askUser(page, listener, options),
    };
    const session = new ServerLogin({ ...about, ...(authorizer && { authorizer }) });
    const { issuer, ...state } = await session.logIn(challenge ?? {});
    await listener?.close(`troupe is logged in to ${name}. You can close this page.`);
    if (options.json) printJson({ name, issuer, ...state });
    else
      process.stdout.write(
        `${name} is logged in at ${plainText(issuer)}${untilText(state)}.\n` +
          `Next: troupe mcp tools ${name}${tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`} prints its tools. A running troupe uses the login now.\n`,
      );
    return exitCodes.ok;
  } catch (error) {
    const failure = challenge || !(error instanceof TroupeError) ? error : notOffered(name, error);
    const { message } = failure as Error;
    const secrets = createSecretMask(knownSecrets(config, process.env));
    await listener?.close(`The login has failed. ${secrets.text(plainText(message))}`);
    throw failure;
  }
}

/** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT */
export async function logout(name: string, options: TenantOptions): Promise<number> {
  const { config } = await loadForTenant(options);
  const server = serverOf(config, name);
  const store = mcpLogins(config.home)(options.tenant ?? DEFAULT_TENANT, name);
  const session = new ServerLogin({ name, config: server, store, clock: systemClock });
  const { wasLoggedIn, revoked } = await session.logOut();
  if (options.json) printJson({ name, wasLoggedIn, revoked });
  else if (!wasLoggedIn) process.stdout.write(`There is no login of ${name}.\n`);
  else process.stdout.write(`The login of ${name} is removed. ${revokedText(revoked)}\n`);
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT */
function serverOf(config: Config, name: string): McpServerConfig {
  known(config, name);
  const server = config.mcp.servers[name]!;
  if (mayLogIn(server)) return server;
  const why =
    server.url === undefined
      ? 'is a program; only servers with a URL have a login'
      : `has an Authorization header: remove mcp.servers.${name}.headers.Authorization first`;
  throw new TroupeError('INVALID_ARGUMENT', `${name} ${why}`);
}

/** On the port of the configuration, or of the former login; undefined: no person logs in. */
async function listenerFor(
  { oauth }: McpServerConfig,
  former: unknown,
): Promise<RedirectListener | undefined> {
  if (oauth?.grant === 'client_credentials') return undefined;
  if (oauth?.redirectPort !== undefined) return openRedirectListener(oauth.redirectPort);
  const { redirect_uris: [uri] = [] } = (former ?? {}) as { redirect_uris?: readonly string[] };
  const port = uri !== undefined && URL.canParse(uri) ? Number(new URL(uri).port) : 0;
  return openRedirectListener(port).catch(() => openRedirectListener(0));
}

async function askUser(
  page: URL,
  listener: RedirectListener,
  { browser, timeout }: LoginOptions,
): Promise<URLSearchParams> {
  const state = page.searchParams.get('state') ?? '';
  const answer = listener.wait(state, timeout * 1_000);
  // Not stdout, which has the JSON.
  process.stderr.write(
    `Open this page in a browser on this machine, and log in:\n\n  ${page.href}\n\n` +
      `Waiting ${Math.ceil(timeout / 60)} minutes for ${listener.redirectUrl}\n`,
  );
  // The page was printed, too.
  if (browser && process.stdout.isTTY) void openBrowser(page.href);
  return answer;
}

/** The server answers without a login, and none is offered. */
const notOffered = (name: string, cause: TroupeError): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${name} answers without a login. ${cause.message}`, {
    cause,
  });
