/**
 * `/v1/inspect?actor=ADDRESS`: reads the request for an inspection, for operators of the tenant of
 * the actors. `actor` may be repeated, `children=true` also follows actors that they create,
 * `context=true` adds contexts, `tenant` names a tenant.
 */
import { actorOf } from '../../operations/actor-of.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Operator } from '../edge/identity/operator.ts';
import { queryOf } from '../http/route.ts';
import type { OpenInspection } from '../gateway/transport/inspection-sockets.ts';
import { ACTORS_MAX, inspectionFrames, type InspectionParts } from './frames.ts';

export type OpenInspectionOptions = InspectionParts & { readonly operator: Operator };

export const openInspection =
  ({ operator, ...parts }: OpenInspectionOptions): OpenInspection =>
  async (request, signal) => {
    const { tenant: own } = await operator({ request });
    const query = queryOf(request);
    const tenant = query.get('tenant') ?? own;
    const named = new Set(query.getAll('actor'));
    const actors = [...named].map((text) => actorOf(tenant, text));
    if (actors.length === 0 || actors.length > ACTORS_MAX)
      throw new TroupeError('INVALID_ARGUMENT', `name 1 to ${ACTORS_MAX} actors: ?actor=ADDRESS`);
    const has = (name: string) => query.get(name) === 'true';
    const inspected = { actors, context: has('context'), children: has('children') };
    return inspectionFrames(parts, inspected, signal);
  };
