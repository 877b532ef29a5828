/**
 * Outstanding: how much may be under way at this Edge at once, in envelopes and in their bytes.
 * What comes beyond is refused at once, so that a flood costs nothing but its refusals.
 */
import { TroupeError } from '../../protocols/errors.ts';

export type OutstandingLimits = { readonly messages: number; readonly bytes: number };

/** What is under way has mostly been answered by then. */
const RETRY_MS = 1_000;

export class Outstanding {
  readonly #limits: OutstandingLimits;
  #messages = 0;
  #bytes = 0;

  constructor(limits: OutstandingLimits) {
    this.#limits = limits;
  }

  /** The returned function, called once, ends it. @throws TroupeError RATE_LIMIT_EXCEEDED */
  begin(bytes: number): () => void {
    const { messages: messagesMax, bytes: bytesMax } = this.#limits;
    // One that is larger than all may be by itself, as another check has it.
    const tooLarge = this.#bytes > 0 && this.#bytes + bytes > bytesMax;
    if (this.#messages >= messagesMax || tooLarge)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        'this gateway has as many envelopes under way as it may: send it again a little later',
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
