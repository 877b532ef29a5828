/**
 * `GET /v1/actors/{actor}/turns`: the turns of one actor from now on, as server-sent events, for
 * operators. Nothing is resumed: a client that reconnects sees what happens from then on.
 */
import { actorOf } from '../../operations/actor-of.ts';
import { masked } from '../../operations/masked.ts';
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import type { System } from '../../runtime/index.ts';
import type { EventStreams, SentEvent } from './event-streams.ts';
import type { Route, RouteRequest } from './route.ts';

export type ActorTurnRoutesOptions = {
  readonly system: Pick<System, 'actors'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless the caller is an operator */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string; readonly tenant?: string }>;
  readonly streams: EventStreams;
  /** replaces every secret that the installation knows */
  readonly maskSecrets: (text: string) => string;
};

export const actorTurnRoutes = ({
  system,
  operator,
  streams,
  maskSecrets,
}: ActorTurnRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/actors/{actor}/turns',
    handle: async (incoming) => {
      const { sub, tenant: own = DEFAULT_TENANT } = await operator(incoming);
      const { params, query, signal } = incoming;
      const tenant = query.get('tenant') ?? own;
      const actor = actorOf(tenant, params['actor'] ?? '');
      // The stream begins when every later turn will be in it.
      const turns = await system.actors.turns(actor, signal);
      await streams.send(incoming, `${tenant} ${sub}`, () => sent(turns, maskSecrets));
    },
  },
];

async function* sent(
  turns: AsyncIterable<ActorTurn>,
  mask: (text: string) => string,
): AsyncIterable<SentEvent> {
  for await (const turn of turns) yield { event: 'turn', id: turn.turn, data: masked(turn, mask) };
}
