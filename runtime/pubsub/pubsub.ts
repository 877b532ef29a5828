/**
 * Pubsub: the public side of a message broker, for programs outside: plain subjects, plain bytes,
 * headers. Not the Bus, which is the cell's own. At most once; what must not be lost is appended
 * before it is answered.
 *
 * Adapter: `nats-pubsub.ts`.
 */
export type PublicMessage = {
  readonly subject: string;
  readonly bytes: Uint8Array;
  /** by lower-case name; of a repeated one the first */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * where `respond` sends to, as the requester named it; the server does not check it: it may be
   * any subject, and is written with this process's rights
   */
  readonly replyTo?: string;
  /** undefined: fire and forget */
  readonly respond?: (bytes: Uint8Array, headers?: Readonly<Record<string, string>>) => void;
};

export interface Pubsub {
  publish(subject: string, bytes: Uint8Array, headers?: Readonly<Record<string, string>>): void;
  /**
   * Each message reaches one subscriber of a queue. `onMessage` may take its time: at most
   * `outstanding.messages` and `outstanding.bytes` are with it at once; what comes beyond goes to
   * `onOverflow` at once, which answers it.
   */
  serve(
    pattern: string,
    queue: string,
    handlers: {
      readonly onMessage: (message: PublicMessage) => Promise<void>;
      readonly onOverflow: (message: PublicMessage) => void;
      readonly outstanding: { readonly messages: number; readonly bytes: number };
    },
  ): () => Promise<void>;
  close(): Promise<void>;
}
