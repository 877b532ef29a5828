/**
 * Determines which callers may administer over HTTP. These are holders of the gateway's token or a
 * tenant's, and principals of the installation's own tenant with the role `operator`. A program
 * that must sign its envelopes is excluded, because a request to a route has no signature.
 *
 * Invariant: an operator of another tenant than the installation's own acts only in that tenant. It
 * may not access installation-wide data (keys, dead letters, metrics).
 */
import { assertScope, needOf } from '../../../operations/access.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { header, queryOf, type RouteRequest } from '../../http/route.ts';
import type { Caller, Identity } from '../edge.ts';
import { OPERATOR } from './tokens.ts';

/** Returns the caller. @throws TroupeError UNAUTHORIZED; FORBIDDEN when it is not an operator */
export type Operator = (request: Pick<RouteRequest, 'request'>) => Promise<Caller>;

/** Whether the caller is an operator of its tenant. One that must sign its envelopes is none. */
export const isOperator = ({ roles, profile }: Pick<Caller, 'roles' | 'profile'>): boolean =>
  roles.includes(OPERATOR) && profile === 'A2A-Basic';

/** @param home the installation's own tenant, whose operators administer all tenants */
export const operatorOf =
  (identity: Identity, home: string): Operator =>
  async ({ request }) => {
    const authorization = header(request, 'authorization');
    const caller = await identity.authenticate({ authorization, transport: 'http' });
    assertScope(caller, needOf(request.method ?? 'GET'));
    if (!isOperator(caller))
      throw new TroupeError('FORBIDDEN', `this request requires the role ${OPERATOR}`);
    if (caller.tenant !== home && tenantsIn(request).some((named) => named !== caller.tenant))
      throw new TroupeError(
        'FORBIDDEN',
        `this token is valid for the tenant ${caller.tenant} only`,
      );
    return caller;
  };

/** For installation-wide data. */
export const installationOperatorOf = (identity: Identity, home: string): Operator => {
  const operator = operatorOf(identity, home);
  return async (incoming) => {
    const caller = await operator(incoming);
    if (caller.tenant === home) return caller;
    throw new TroupeError(
      'FORBIDDEN',
      `this request concerns the whole installation, and the token is valid for the tenant ${caller.tenant} only`,
    );
  };
};

/** The tenants that `?tenant=` names. */
const tenantsIn = (request: RouteRequest['request']): readonly string[] =>
  queryOf(request).getAll('tenant');
