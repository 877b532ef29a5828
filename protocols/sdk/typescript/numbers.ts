/**
 * Sequence numbers of envelopes (`seq`). They increase per subject and MAJOR version. A new client
 * starts with the current time, so its numbers are higher than those before a restart.
 *
 * Concurrent envelopes may overtake each other, and the server refuses one whose number is too low.
 * Such an envelope is sent again alone: new envelopes of its subject wait meanwhile.
 */

/** Numbers below the current time need not be stored, because the next number is the time. */
const REMEMBERED_MAX = 1_000;

export class Numbers {
  readonly #last = new Map<string, number>();
  readonly #tails = new Map<string, Promise<void>>();

  next(line: string): number {
    const now = Date.now();
    const following = Math.max((this.#last.get(line) ?? 0) + 1, now);
    if (this.#last.size >= REMEMBERED_MAX)
      for (const [other, last] of this.#last) if (last < now) this.#last.delete(other);
    this.#last.set(line, following);
    return following;
  }

  /** Another client of the same sender has used `last`. */
  above(line: string, last: number): number {
    this.#last.set(line, Math.max(this.#last.get(line) ?? 0, last));
    return this.next(line);
  }

  /** Resolves when no envelope of the subject is sent alone. */
  free(line: string): Promise<void> {
    return this.#tails.get(line) ?? Promise.resolve();
  }

  /** Runs `work` exclusively within its subject. */
  async alone<T>(line: string, work: () => Promise<T>): Promise<T> {
    const before = this.free(line);
    let end = (): void => {};
    const mine = new Promise<void>((resolve) => (end = resolve));
    const tail = before.then(() => mine);
    this.#tails.set(line, tail);
    await before;
    try {
      return await work();
    } finally {
      end();
      if (this.#tails.get(line) === tail) this.#tails.delete(line);
    }
  }
}
