/**
 * Agent credentials: the token for requests to an external agent, and the name in it, from
 * `a2a.agentsOutside`, for tasks of one tenant and agents below one URL.
 *
 * Invariant: a token is sent only to the origin that it is configured for, whatever URL an agent
 * registers.
 */
import { decodeJwt } from 'jose';
import type { Envelope } from '../../../protocols/envelope.ts';
import type { Config } from '../../../runtime/config/index.ts';
import type { AskAgentOptions, CallerIdentity } from './ask-agent.ts';

type Entry = Config['a2a']['agentsOutside'][number];
type TokenOf = NonNullable<AskAgentOptions['token']>;

export const tokenOf =
  (entries: readonly Entry[]): TokenOf =>
  ({ url }, { tenant_id }) => {
    const fitting = entries
      .filter((entry) => entry.tenant === tenant_id && isUnder(url, entry.url))
      .toSorted((a, b) => b.url.length - a.url.length);
    const token = fitting[0]?.token.reveal();
    if (token === undefined) return Promise.resolve({});
    return Promise.resolve({ authorization: `Bearer ${token}`, name: nameIn(token) });
  };

/** Path by path, so that no longer name of a host or a folder has the same beginning. */
function isUnder(url: string, prefix: string): boolean {
  const [target, base] = [new URL(url), new URL(prefix)];
  const folder = base.pathname.replace(/\/*$/, '/');
  return target.origin === base.origin && `${target.pathname}/`.startsWith(folder);
}

/**
 * The principal that a JWT names; unknown for other tokens, and then the envelope stays unchanged.
 */
function nameIn(token: string): CallerIdentity {
  try {
    const { sub, tenant, roles } = decodeJwt(token);
    const name: { -readonly [K in keyof CallerIdentity]: CallerIdentity[K] } = {};
    if (typeof tenant === 'string') name.tenant_id = tenant;
    if (typeof sub === 'string') name.principal = { sub, roles: rolesIn(roles) };
    return name;
  } catch {
    return {};
  }
}

const rolesIn = (roles: unknown): Envelope['principal']['roles'] => {
  const list: unknown[] =
    typeof roles === 'string' ? roles.split(' ') : Array.isArray(roles) ? roles : [];
  return list.filter((role): role is string => typeof role === 'string' && role !== '');
};
