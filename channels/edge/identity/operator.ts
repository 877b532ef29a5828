/**
 * Operator: who may turn the installation's own handles (keys, dead letters) over HTTP.
 *
 * Where the gateway asks nobody for a token, the browser of its owner is the one stranger left: a
 * page from elsewhere may make it send requests here. Such a request bears the page's origin, or,
 * when the page's name was made to point here (DNS rebinding), a host that is not this machine.
 */
import type { IncomingMessage } from 'node:http';
import { TroupeError } from '../../../protocols/errors.ts';
import { isLoopback } from '../../gateway/access.ts';
import { header, type RouteRequest } from '../../http/route.ts';
import type { Caller, Identity } from '../edge.ts';
import { OPERATOR } from './tokens.ts';

/** Answers who it is. @throws TroupeError UNAUTHORIZED; FORBIDDEN when it is no operator */
export type Operator = (request: RouteRequest) => Promise<Caller>;

export const operatorOf =
  (identity: Identity): Operator =>
  async ({ request }) => {
    const authorization = header(request, 'authorization');
    if (authorization === undefined && isFromForeignPage(request))
      throw new TroupeError('FORBIDDEN', 'a page from elsewhere may not do this without a token');
    const caller = await identity.authenticate({ authorization });
    if (caller.roles.includes(OPERATOR) && caller.profile === 'A2A-Basic') return caller;
    throw new TroupeError('FORBIDDEN', `this needs the role ${OPERATOR}`);
  };

/** Whether the request was made by a web page that is not this machine's own. */
export const isFromForeignPage = (request: IncomingMessage): boolean => {
  const origin = header(request, 'origin');
  return (
    !isLoopback(hostOf(`http://${header(request, 'host') ?? ''}`)) ||
    (origin !== undefined && !isLoopback(hostOf(origin)))
  );
};

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
