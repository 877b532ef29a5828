/**
 * KeyMap: values by the key of a text. A Map of very many keys doubles in one step, which takes
 * 10 ms and more; these are many small ones, which double one at a time.
 */
const PARTS = 64;

export class KeyMap<Value> {
  readonly #parts: Map<string, Value>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#parts[partOf(key)]?.has(key) ?? false;
  }

  set(key: string, value: Value): void {
    const part = (this.#parts[partOf(key)] ??= new Map());
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    const isThere = this.#parts[partOf(key)]?.delete(key) ?? false;
    if (isThere) this.#size -= 1;
    return isThere;
  }
}

/** Keys are hashes. */
const partOf = (key: string): number => key.charCodeAt(0) % PARTS;
