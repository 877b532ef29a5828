/** An event, encoded once for all connections that receive it. */

export type EventHead = {
  /** the frame's text after the number */
  readonly rest: Buffer;
  /** the stored event, once it is stored */
  kept?: StoredEvent;
};

/** An event that is stored for all connections. */
export type StoredEvent = {
  /** undefined once it is dropped */
  head: EventHead | undefined;
  /** number of connections that could replay it */
  holders: number;
};

/** An event frame without its number, which `Connection.event` adds. */
export const eventHead = (event: string, payload: unknown, more: object = {}): EventHead => {
  const text = JSON.stringify({ type: 'event', event, payload, ...more });
  return { rest: Buffer.from(text.slice(1)) };
};
