/**
 * Ticks: `tick` and a ping to every connection once per interval, and the end of those that did not
 * answer the last ping. Spread over the interval, so that ten thousand connections are never
 * written to at once.
 */
import type { Clock } from '../../../runtime/index.ts';
import { type Connection, eventHead } from './connection.ts';
import { TICK_BATCH } from '../limits.ts';

/** Of connections, all of them in the order in which they came. Returns the end of ticking. */
export const tickEvery = (
  intervalMs: number,
  clock: Clock,
  connections: () => Iterable<Connection>,
): (() => void) => {
  let round: Connection[] = [];
  let cancel = clock.after(intervalMs, begin);
  /** Those that come in the middle of a round have their first tick in the next one. */
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
