/** Work that many events cause, done once per frame at most. */
export class FrameBatch {
  readonly #work: () => void;
  #frame: number | undefined;

  constructor(work: () => void) {
    this.#work = work;
  }

  /** May be called for every event. */
  soon(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#work();
    });
  }

  end(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }
}
