/** What commands print about logins to MCP servers. */
import { isLoginFailure } from '../../agent/mcp/oauth/login-failure.ts';
import { type LoginState, mayLogIn, ServerLogin } from '../../agent/mcp/oauth/server-login.ts';
import { mcpLogins } from '../../installation/mcp-logins.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import type { Config } from '../../runtime/config/index.ts';
import { systemClock } from '../../runtime/index.ts';

/** How long `troupe mcp add` waits for the server, milliseconds. */
const ADD_MS = 5_000;

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
  const login = new ServerLogin({ name, config, store, clock: systemClock, answerMs: ADD_MS });
  return (await login.challenge().catch(() => undefined)) !== undefined;
}
