/** A map with a bounded number of entries, for caches. */

/**
 * Holds at most `entriesMax` entries: a new entry evicts the least recently used one. `get` and
 * `set` count as use; `has` and iteration do not.
 */
export class LruMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  override get(key: K): V | undefined {
    const value = super.get(key);
    if (value !== undefined) this.#moveToEnd(key, value);
    return value;
  }

  override set(key: K, value: V): this {
    this.#moveToEnd(key, value);
    if (this.size > this.#entriesMax) {
      const oldest = this.keys().next();
      if (!oldest.done) this.delete(oldest.value);
    }
    return this;
  }

  /** A Map iterates in the order of insertion, so the first key is the least recently used one. */
  #moveToEnd(key: K, value: V): void {
    this.delete(key);
    super.set(key, value);
  }
}
