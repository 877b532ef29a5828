/**
 * A value that is made at its first use, and once for all uses: code that only some requests need,
 * or a client whose library is loaded late. A failure is not kept, so the next use tries again. (A
 * module of the program that is there and cannot be linked or evaluated fails again: Node keeps
 * that.)
 */
export class LazyValue<Value> {
  readonly #make: () => Promise<Value>;
  #made: Promise<Value> | undefined;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  /** Rejects as `make` does. */
  get(): Promise<Value> {
    if (this.#made) return this.#made;
    const made = this.#make();
    this.#made = made;
    made.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made;
  }

  /** What was made, or is being made; undefined before the first use, and after a failure. */
  get made(): Promise<Value> | undefined {
    return this.#made;
  }

  /** The next use makes another one. */
  forget(): void {
    this.#made = undefined;
  }
}
