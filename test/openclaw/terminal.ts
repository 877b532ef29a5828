/**
 * What a user does with a program in a terminal: reads new output, types, waits. Escape sequences
 * are removed, and a line that is drawn again occurs again.
 */
import { eventually } from '../runtime/eventually.ts';
import type { Running } from './installation.ts';

/** Longest wait for expected output, milliseconds: a deadline, not a benchmark. */
const SEEN_WITHIN_MS = 60_000;
const ENTER_AGAIN_MS = 4_000;
const ENTERS_MAX = 3;

export class Terminal {
  readonly #running: Running;
  #from = 0;

  constructor(running: Running) {
    this.#running = running;
  }

  /** The output since the last `mark`. */
  get text(): string {
    return plain(this.#running.out.slice(this.#from));
  }

  /** Output from here on is new. */
  mark(): void {
    this.#from = this.#running.out.length;
  }

  /** @throws Error with the actual output after `withinMs` (a minute) */
  async sees(what: RegExp, withinMs = SEEN_WITHIN_MS): Promise<string> {
    return eventually(() => {
      const { text } = this;
      if (what.test(text)) return text;
      throw new Error(`${what} is not seen, but:\n${text.slice(-3_000)}`);
    }, withinMs);
  }

  /** Waits until the program has ended; returns its exit code. */
  async ends(): Promise<number> {
    return eventually(() => {
      const { exitCode } = this.#running.child;
      if (exitCode === null) throw new Error('it has not ended');
      return exitCode;
    }, SEEN_WITHIN_MS);
  }

  /** Sends keys unchanged, without Enter. */
  press(keys: string): void {
    this.#running.child.stdin?.write(keys);
  }

  /**
   * Types a line, and presses Enter until `what` is shown. A busy terminal treats keys that arrive
   * together as a paste, with their Enter as part of it. On an empty line Enter does nothing.
   */
  async says(line: string, what: RegExp): Promise<string> {
    this.mark();
    this.press(line);
    await this.sees(new RegExp(escaped(line.slice(-20))));
    this.mark();
    for (let times = 0; times < ENTERS_MAX; times++) {
      this.press('\r');
      const seen = await this.sees(what, ENTER_AGAIN_MS).catch(() => undefined);
      if (seen !== undefined) return seen;
    }
    return this.sees(what);
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const ESC = '\u001b';
const sequences = new RegExp(
  `${ESC}\\][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\)|${ESC}[\\[(][0-9;?<>=]*[A-Za-z]|${ESC}[=>78]|${ESC}_[^${ESC}]*${ESC}\\\\`,
  'g',
);

const plain = (text: string): string => text.replace(sequences, '').replaceAll('\r', '');
