/** Lets other work of the process run every few milliseconds. */
import { setImmediate as turn } from 'node:timers/promises';

const SLICE_MS = 5;

export class Pace {
  #from = performance.now();

  /** Whether it is time for other work; loops of short steps ask before they wait. */
  get isDue(): boolean {
    return performance.now() - this.#from >= SLICE_MS;
  }

  async pause(): Promise<void> {
    if (!this.isDue) return;
    await turn();
    this.#from = performance.now();
  }
}
