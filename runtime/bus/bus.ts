/**
 * Bus: ephemeral publish, subscribe and request. At most once: a message may be lost, doubled or
 * late, so nothing that matters rests on it alone (I2, I5). Subjects are dot-separated tokens; in a
 * subscription `*` stands for one token and a last `>` for one or more.
 */
export type BusMessage = {
  readonly subject: string;
  readonly payload: unknown;
  /** answers a request; does nothing when nobody asked */
  readonly respond: (payload: unknown) => void;
};

export interface Bus {
  /** false while messages certainly do not travel */
  readonly connected: boolean;
  publish(subject: string, payload: unknown): void;
  /**
   * Returns unsubscribe. Handlers run after the publisher's turn of the event loop, in publish
   * order.
   */
  subscribe(pattern: string, onMessage: (message: BusMessage) => void): () => void;
  /**
   * @throws TroupeError DEADLINE_EXCEEDED when nobody answered in time, UNAVAILABLE when nobody
   * listens
   */
  request(subject: string, payload: unknown, options: { timeoutMs: number }): Promise<unknown>;
  close(): Promise<void>;
}
