/**
 * `/v1/inspect?actor=ADDRESS`: reads the request for an inspection, for operators of the tenant of
 * the actors. `actor` may be repeated, `context=true` adds contexts, `tenant` names a tenant.
 */
import { actorOf } from '../../operations/actor-of.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Operator } from '../edge/identity/operator.ts';
import { queryOf } from '../http/route.ts';
import type { OpenInspection } from '../gateway/transport/inspection-sockets.ts';
import { inspectionFrames, type InspectionParts } from './frames.ts';

export type OpenInspectionOptions = InspectionParts & { readonly operator: Operator };

/** Each is followed on its own. */
const ACTORS_MAX = 20;

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
    return inspectionFrames(parts, { actors, context: query.get('context') === 'true' }, signal);
  };
