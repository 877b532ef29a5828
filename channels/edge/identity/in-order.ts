/** Concurrent work whose results leave in the order in which it began, for each name. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Resolves as `work`, after what began earlier under this name has ended. Rejects at once.
   * @param work has begun
   */
  async after<T>(name: string, work: Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const result = Promise.all([work, before]);
    const ended = Promise.allSettled([result, before]);
    this.#last.set(name, ended);
    try {
      const [value] = await result;
      return value;
    } finally {
      void ended.then(() => {
        if (this.#last.get(name) === ended) this.#last.delete(name);
      });
    }
  }
}
