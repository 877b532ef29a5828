/**
 * Sends `tick` and a ping to every connection once per interval, and terminates those that did not
 * answer the last ping. The sends are spread over the interval, because there may be ten thousand
 * connections.
 */
import type { Clock } from '../../../runtime/index.ts';
import { type Connection, eventHead } from './connection.ts';
import { TICK_BATCH } from '../limits.ts';

/**
 * @param connections all connections, in order of arrival
 * @returns a function that stops the ticks
 */
export const tickEvery = (
  intervalMs: number,
  clock: Clock,
  connections: () => Iterable<Connection>,
): (() => void) => {
  let round: Connection[] = [];
  let cancel = clock.after(intervalMs, begin);
  /** Connections that arrive during a round have their first tick in the next one. */
  function begin(): void {
    round = [...connections()];
    next(intervalMs / Math.max(1, Math.ceil(round.length / TICK_BATCH)));
  }
  function next(waitMs: number): void {
    const head = eventHead('tick', { ts: clock.wallMs() });
    for (const connection of round.splice(0, TICK_BATCH)) {
      if (!connection.alive) {
        connection.terminate();
        continue;
      }
      connection.event(head);
      connection.ping();
    }
    cancel = clock.after(waitMs, () => (round.length > 0 ? next(waitMs) : begin()));
  }
  return () => cancel();
};
