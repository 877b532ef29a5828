/** What commands print about logins to MCP servers. */
import { isLoginFailure } from '../../agent/mcp/oauth/login-failure.ts';
import { type LoginState, mayLogIn, ServerLogin } from '../../agent/mcp/oauth/server-login.ts';
import { mcpLogins } from '../../installation/mcp-logins.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { type Config, tenantConfig } from '../../runtime/config/index.ts';
import { systemClock } from '../../runtime/index.ts';

/** How long `troupe mcp add` and `remove` wait for a server, milliseconds. */
const ANSWER_MS = 5_000;

/** `none`: there is no login, and none was needed. */
export type ListedLogin = 'none' | 'needed' | LoginState;

/** @param problem with which the server could not be used */
export const listedLogin = (state: LoginState | undefined, problem?: unknown): ListedLogin =>
  isLoginFailure(problem) && problem.code === 'UNAUTHORIZED' ? 'needed' : (state ?? 'none');

export const loginText = (login: ListedLogin): string => {
  if (login === 'none') return 'none';
  return login === 'needed' ? 'needed' : `logged in${untilText(login)}`;
};

/** ` until …`, or how it continues. */
export const untilText = ({ expiresAt, isRefreshed }: Omit<LoginState, 'issuer'>): string => {
  if (isRefreshed) return ', renewed by itself';
  const time = new Date(expiresAt ?? NaN);
  return Number.isNaN(time.getTime()) ? '' : ` until ${time.toISOString()}`;
};

/** Whether a configured server asks for a login; false when it does not answer. */
export async function asksForLogin({ mcp, home }: Config, name: string): Promise<boolean> {
  const config = mcp.servers[name];
  if (!config?.enabled || !mayLogIn(config) || config.oauth?.grant === 'client_credentials')
    return false;
  const store = mcpLogins(home)(DEFAULT_TENANT, name);
  const login = new ServerLogin({ name, config, store, clock: systemClock, answerMs: ANSWER_MS });
  return (await login.challenge().catch(() => undefined)) !== undefined;
}

export const revokedText = (revoked: boolean): string =>
  revoked
    ? 'Its authorization server has ended it.'
    : 'Its authorization server has not ended it: its tokens are valid until they expire.';

/** Removes and ends the logins of a server that tenants no longer have. */
export async function endLogins(
  name: string,
  before: Config,
  now: Config,
): Promise<readonly { readonly tenant: string; readonly revoked: boolean }[]> {
  const ended = [DEFAULT_TENANT, ...Object.keys(before.tenants)].map(async (tenant) => {
    const config = tenantConfig(before, tenant).mcp.servers[name];
    const store = mcpLogins(before.home)(tenant, name);
    if (!config || Object.hasOwn(tenantConfig(now, tenant).mcp.servers, name)) return [];
    if ((await store.read()) === undefined) return [];
    const about = { name, tenant, config, store, clock: systemClock, answerMs: ANSWER_MS };
    const { revoked } = await new ServerLogin(about).logOut();
    return [{ tenant, revoked }];
  });
  return (await Promise.all(ended)).flat();
}
