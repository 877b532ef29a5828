/** Lets other work of the process run every few milliseconds. */
import { setImmediate as turn } from 'node:timers/promises';

const SLICE_MS = 8;

export class Pace {
  #from = performance.now();

  async pause(): Promise<void> {
    if (performance.now() - this.#from < SLICE_MS) return;
    await turn();
    this.#from = performance.now();
  }
}
