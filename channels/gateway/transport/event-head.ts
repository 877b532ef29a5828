/** EventHead: an event as it is encoded once, however many connections are told of it. */

export type EventHead = {
  /** of the frame, all that follows the number */
  readonly rest: Buffer;
  /** what is remembered of it, once somebody does */
  kept?: StoredEvent;
};

/** An event as all connections remember it; `head` is undefined once it is forgotten. */
export type StoredEvent = { head: EventHead | undefined };

/** Everything of an event frame but its number, which `Connection.event` adds. */
export const eventHead = (event: string, payload: unknown, more: object = {}): EventHead => {
  const text = JSON.stringify({ type: 'event', event, payload, ...more });
  return { rest: Buffer.from(text.slice(1)) };
};
