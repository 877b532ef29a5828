/** What a process of a cluster logs and counts about the others and about shards. */
import type { Metrics, PlacementEvent } from '../runtime/index.ts';

type Write = (facts: object, text: string) => void;

/**
 * Events of single shards are logged at debug level, joining and leaving processes at info level.
 */
export const logPlacement =
  (log: { readonly debug: Write; readonly info: Write }) =>
  (event: PlacementEvent): void => {
    const { kind, ...facts } = event;
    if ('shard' in facts) return log.debug(facts, `cluster: ${kind}`);
    if (!('heartbeat' in facts)) return log.info(facts, `cluster: ${kind}`);
    const { heartbeat, ...more } = facts;
    const { node, role, weight, draining } = heartbeat;
    log.info({ node, role, weight, draining, ...more }, `cluster: ${heartbeat.name} ${kind}`);
  };

export function countTakeover(
  metrics: Pick<Metrics, 'shardTaken' | 'shardTakeFailed'>,
  event: PlacementEvent,
): void {
  if (event.kind === 'took') metrics.shardTaken(event.given);
  if (event.kind === 'take failed') metrics.shardTakeFailed();
}
