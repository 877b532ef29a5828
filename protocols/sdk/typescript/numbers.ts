/**
 * Numbers of envelopes (`seq`): they rise per subject and MAJOR version, also after a restart,
 * since a new client begins with the time and so above an old one's.
 *
 * Envelopes that are sent at once may overtake each other, and one whose number came late is
 * refused. Such a one is sent again alone: while it is, new ones of its subject wait.
 */

/** Numbers below the time need not be remembered: the next one is the time. */
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

  /** Another client of the same sender was at `last`. */
  above(line: string, last: number): number {
    this.#last.set(line, Math.max(this.#last.get(line) ?? 0, last));
    return this.next(line);
  }

  /** Resolves when those that are sent alone at present are through. */
  free(line: string): Promise<void> {
    return this.#tails.get(line) ?? Promise.resolve();
  }

  /** Runs `work` when no other of its line runs alone. */
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
