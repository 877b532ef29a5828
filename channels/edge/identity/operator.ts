/**
 * Operator: who may turn the installation's own handles (keys, dead letters, approvals) over HTTP:
 * who holds the gateway's token, or one of the own tenant with the role `operator`. A program that
 * must sign its envelopes is none: a request to a route bears no signature.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { header, type RouteRequest } from '../../http/route.ts';
import type { Caller, Identity } from '../edge.ts';
import { OPERATOR } from './tokens.ts';

/** Answers who it is. @throws TroupeError UNAUTHORIZED; FORBIDDEN when it is no operator */
export type Operator = (request: Pick<RouteRequest, 'request'>) => Promise<Caller>;

export const operatorOf =
  (identity: Identity): Operator =>
  async ({ request }) => {
    const caller = await identity.authenticate({ authorization: header(request, 'authorization') });
    if (caller.roles.includes(OPERATOR) && caller.profile === 'A2A-Basic') return caller;
    throw new TroupeError('FORBIDDEN', `this needs the role ${OPERATOR}`);
  };
