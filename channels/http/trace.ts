/**
 * `/v1/runs/{run_id}/trace`: what a run caused, for operators, from committed rows and transcripts.
 * It activates no actor.
 *
 * Boundary: the caller authenticates operators; nothing is read before that.
 */
import { address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { TRACE_DEPTH_MAX } from '../../protocols/run-trace.ts';
import type { System } from '../../runtime/index.ts';
import { type Route, type RouteRequest, sendJson } from './route.ts';

export type TraceRouteOptions = {
  readonly system: Pick<System, 'index' | 'transcripts'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless the caller is an operator */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
};

export const traceRoutes = (options: TraceRouteOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/runs/{run_id}/trace',
    handle: (request) => trace(options, request),
  },
];

async function trace({ system, operator }: TraceRouteOptions, incoming: RouteRequest) {
  const { tenant: own = 'default' } = await operator(incoming);
  const { query, params, response } = incoming;
  const tenant = query.get('tenant') ?? own;
  address(tenant, 'session', 'any');
  const depth = depthOf(query.get('depth'));
  const [{ traceReader }, { traceOf }] = await Promise.all([
    import('../trace/reader.ts'),
    import('../trace/trace-of.ts'),
  ]);
  sendJson(response, 200, await traceOf(traceReader(system, tenant), params.run_id!, depth));
}

/** @throws TroupeError INVALID_ARGUMENT */
function depthOf(given: string | null): number {
  const depth = given === null ? TRACE_DEPTH_MAX : Number(given);
  if (Number.isInteger(depth) && depth >= 0 && depth <= TRACE_DEPTH_MAX) return depth;
  throw new TroupeError('INVALID_ARGUMENT', `depth is a whole number from 0 to ${TRACE_DEPTH_MAX}`);
}
