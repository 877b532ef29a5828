/**
 * Lanes: requests to one chat run one after the other, at the pace that the service allows for a
 * chat and for an account.
 *
 * Boundary: the pace is kept per process. A service that is asked too often anyway says so, and the
 * chat waits (actors/chat).
 */
import type { Clock } from '../../runtime/index.ts';
import type { Abilities } from './adapter.ts';

export class Lanes {
  readonly #clock: Clock;
  readonly #pace: Abilities['pace'];
  /** the last request of each chat, while it waits or runs */
  readonly #last = new Map<string, Promise<unknown>>();
  /** monotonic time of the next allowed request: of the account, and of chats used lately */
  #nextAt = 0;
  readonly #chatNextAt = new Map<string, number>();

  constructor(clock: Clock, pace: Abilities['pace']) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Runs the request after all earlier ones of the chat. */
  run<T>(chat: string, request: () => Promise<T>): Promise<T> {
    const before = this.#last.get(chat) ?? Promise.resolve();
    const mine = before.then(() => this.#paced(chat, request));
    const settled = mine.then(
      () => {},
      () => {},
    );
    this.#last.set(chat, settled);
    void settled.then(() => {
      if (this.#last.get(chat) === settled) this.#last.delete(chat);
    });
    return mine;
  }

  /** A chat that waits for its own pace takes no turn of the account. */
  async #paced<T>(chat: string, request: () => Promise<T>): Promise<T> {
    await this.#until(this.#chatNextAt.get(chat) ?? 0);
    const now = this.#clock.monotonicMs();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#pace.ofAccountMs;
    this.#forget(now);
    if (this.#pace.ofChatMs > 0) this.#chatNextAt.set(chat, at + this.#pace.ofChatMs);
    await this.#until(at);
    return request();
  }

  async #until(at: number): Promise<void> {
    const ms = at - this.#clock.monotonicMs();
    if (ms > 0) await new Promise<void>((resolve) => this.#clock.after(ms, resolve));
  }

  /** Map order is the order of last use, so entries that are over come first. */
  #forget(now: number): void {
    for (const [chat, at] of this.#chatNextAt) {
      if (at > now) return;
      this.#chatNextAt.delete(chat);
    }
  }
}
