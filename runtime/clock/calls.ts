/**
 * Calls: named calls of a clock; setting one again replaces it, and all can be cancelled at once.
 */
import type { Clock } from './clock.ts';

export class Calls<Name extends string> {
  readonly #clock: Clock;
  readonly #cancels = new Map<Name, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(name: Name, delayMs: number, call: () => void): void {
    this.#cancels.get(name)?.();
    const cancel = this.#clock.after(delayMs, () => {
      this.#cancels.delete(name);
      call();
    });
    this.#cancels.set(name, cancel);
  }

  has(name: Name): boolean {
    return this.#cancels.has(name);
  }

  cancelAll(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }
}
