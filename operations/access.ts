/**
 * What a caller's token allows beyond its roles: the tenant of an operation, and the scopes of an
 * OAuth token. One place for HTTP, NATS, MCP and the gateway's WebSocket.
 */
import { address } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Operation } from './operation.ts';

/** Scopes of OAuth tokens, and what each grants. Roles still apply: a scope adds no right. */
const GRANTS = {
  /** to read tasks and what is offered */
  readTasks: ['troupe:read', 'troupe:call'],
  /** to read what operators read */
  read: ['troupe:read', 'troupe:operate'],
  /** to call actions, and to continue or cancel their tasks */
  call: ['troupe:call'],
  /** to change what operators change */
  operate: ['troupe:operate'],
} as const;
export type Need = keyof typeof GRANTS;
export const TOKEN_SCOPES = ['troupe:read', 'troupe:call', 'troupe:operate'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/**
 * @param scopes of the caller's token; undefined: it names none, and its roles alone decide
 * @throws TroupeError FORBIDDEN with `details.scope`, the scope to ask for
 */
export const assertScope = (
  { scopes }: { readonly scopes?: readonly TokenScope[] | undefined },
  need: Need,
): void => {
  const granting: readonly TokenScope[] = GRANTS[need];
  if (scopes === undefined || scopes.some((one) => granting.includes(one))) return;
  throw new TroupeError('FORBIDDEN', `the token has no scope ${granting.join(' or ')}`, {
    details: { scope: granting[0] },
  });
};

/** The need of an operation or a request by its HTTP method. */
export const needOf = (method: string): Need =>
  method === 'GET' || method === 'HEAD' ? 'read' : 'operate';

/**
 * @param named the tenant that the request names; default the caller's own
 * @throws TroupeError FORBIDDEN when the caller's tenant or scopes do not allow it;
 *   INVALID_ARGUMENT for an invalid name
 */
export const tenantOfOperation = (
  { scope, http }: Pick<Operation, 'scope' | 'http'>,
  caller: {
    readonly tenant: string;
    readonly isHome: boolean;
    readonly scopes?: readonly TokenScope[] | undefined;
  },
  named = caller.tenant,
): string => {
  const { tenant: own, isHome } = caller;
  assertScope(caller, needOf(http.method));
  // Validates the tenant's name.
  address(named, 'tenant', 'any');
  if (isHome || (scope === 'tenant' && named === own)) return named;
  throw new TroupeError(
    'FORBIDDEN',
    scope === 'tenant'
      ? `clients of the tenant ${own} reach no other tenant`
      : `installation-wide: clients of the tenant ${own} may not use it`,
  );
};
