/**
 * Limits the concurrent envelopes of this Edge, by number and by bytes. Further ones are refused at
 * once, so that a flood costs only its refusals.
 */
import { TroupeError } from '../../protocols/errors.ts';

export type OutstandingLimits = { readonly messages: number; readonly bytes: number };

/** Retry delay; by then most of the pending envelopes have been answered. */
const RETRY_MS = 1_000;

export class Outstanding {
  readonly #limits: OutstandingLimits;
  #messages = 0;
  #bytes = 0;

  constructor(limits: OutstandingLimits) {
    this.#limits = limits;
  }

  /**
   * Counts an envelope until the returned function is called, once. @throws TroupeError
   * RATE_LIMIT_EXCEEDED
   */
  begin(bytes: number): () => void {
    const { messages: messagesMax, bytes: bytesMax } = this.#limits;
    // An envelope above the limit may run alone; another check limits its size.
    const tooLarge = this.#bytes > 0 && this.#bytes + bytes > bytesMax;
    if (this.#messages >= messagesMax || tooLarge)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        'this gateway has reached its limit of concurrent envelopes (a2a.outstanding): send it again later',
        { retryAfterMs: RETRY_MS, details: { limit: 'outstanding' } },
      );
    this.#messages += 1;
    this.#bytes += bytes;
    return () => {
      this.#messages -= 1;
      this.#bytes -= bytes;
    };
  }
}
