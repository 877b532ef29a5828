/**
 * What a plugin prints: line by line, at most LINES_MAX in PERIOD_MS. The rest is counted, and the
 * end of stderr is kept for the report of a crash.
 */
import { plainText } from '../../protocols/plain-text.ts';
import type { Clock } from '../../runtime/index.ts';
import { LineBuffer } from './wire.ts';

const LINES_MAX = 100;
const PERIOD_MS = 10_000;
const LINE_CHARACTERS_MAX = 2_000;
/** Lines of stderr that a report of a crash looks at. */
const KEPT_MAX = 40;

export class Printed {
  readonly #print: (line: string, isError: boolean) => void;
  readonly #clock: Clock;
  readonly #errors: string[] = [];
  #from = -Infinity;
  #lines = 0;

  constructor(print: (line: string, isError: boolean) => void, clock: Clock) {
    this.#print = print;
    this.#clock = clock;
  }

  /** Reads one of the two streams. */
  reader(isError: boolean): (chunk: Buffer) => void {
    const lines = new LineBuffer();
    return (chunk) => {
      for (const line of lines.add(chunk)) this.#onLine(line, isError);
      if (lines.pendingBytes > LINE_CHARACTERS_MAX) this.#onLine(lines.flush(), isError);
    };
  }

  /** The line of stderr that says most about a crash. */
  lastError(): string | undefined {
    return (
      this.#errors.find((line) => line.startsWith('FATAL ERROR')) ??
      this.#errors.findLast((line) => /^\S*Error\b/.test(line)) ??
      this.#errors.at(-1)
    );
  }

  #onLine(text: string, isError: boolean): void {
    const line = plainText(text.slice(0, LINE_CHARACTERS_MAX)).trim();
    if (line === '') return;
    if (isError && this.#errors.push(line) > KEPT_MAX) this.#errors.shift();
    const now = this.#clock.monotonicMs();
    if (now - this.#from >= PERIOD_MS) {
      const left = this.#lines - LINES_MAX;
      if (left > 0) this.#print(`${left} more lines were left out`, true);
      [this.#from, this.#lines] = [now, 0];
    }
    if (++this.#lines <= LINES_MAX) this.#print(line, isError);
  }
}
