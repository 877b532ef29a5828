/**
 * Sends of one connection, collected for a turn of the event loop. The client writes to its socket
 * after each microtask that published, and a write costs more than what it carries: what one turn
 * publishes, for all shards, goes in one write. Order is kept.
 */
import type { NatsConnection } from '@nats-io/transport-node';

const waiting = new WeakMap<NatsConnection, (() => void)[]>();

/** Calls `send`, which must not throw, at the end of this turn of the event loop. */
export function sendSoon(nc: NatsConnection, send: () => void): void {
  const sends = waiting.get(nc);
  if (sends) return void sends.push(send);
  waiting.set(nc, [send]);
  setImmediate(() => sendNow(nc));
}

/** Calls what waits, before a connection or its user ends. */
export function sendNow(nc: NatsConnection): void {
  const sends = waiting.get(nc);
  waiting.delete(nc);
  for (const send of sends ?? []) send();
}
