/**
 * Bus: ephemeral publish, subscribe and request. Delivery is at most once: a message may be lost,
 * duplicated or late, so nothing important depends on it alone (I2, I5). Subjects are dot-separated
 * tokens; in a subscription `*` matches one token and a last `>` one or more.
 */
export type BusMessage = {
  readonly subject: string;
  readonly payload: unknown;
  /** answers a request; has no effect for any other message */
  readonly respond: (payload: unknown) => void;
};

export interface Bus {
  /** false while messages are certainly not delivered */
  readonly connected: boolean;
  publish(subject: string, payload: unknown): void;
  /**
   * Returns unsubscribe. Handlers run after the publisher's turn of the event loop, in publish
   * order.
   */
  subscribe(pattern: string, onMessage: (message: BusMessage) => void): () => void;
  /**
   * @throws TroupeError DEADLINE_EXCEEDED without an answer in time, UNAVAILABLE without a
   * subscriber
   */
  request(subject: string, payload: unknown, options: { timeoutMs: number }): Promise<unknown>;
  close(): Promise<void>;
}
