/**
 * What a person at a terminal does with a program: reads what it wrote since, types, waits. Escape
 * sequences are taken out; a line that is drawn again is there again.
 */
import { eventually } from '../runtime/eventually.ts';
import type { Running } from './installation.ts';

/** Longest wait for what shall be seen, milliseconds: a deadline, not a measure. */
const SEEN_WITHIN_MS = 60_000;

export class Terminal {
  readonly #running: Running;
  #from = 0;

  constructor(running: Running) {
    this.#running = running;
  }

  /** What was written since the last `mark`. */
  get text(): string {
    return plain(this.#running.out.slice(this.#from));
  }

  /** From here on is new. */
  mark(): void {
    this.#from = this.#running.out.length;
  }

  /** @throws Error with what is there instead, after a minute */
  async sees(what: RegExp): Promise<string> {
    return eventually(() => {
      const { text } = this;
      if (what.test(text)) return text;
      throw new Error(`${what} is not seen, but:\n${text.slice(-3_000)}`);
    }, SEEN_WITHIN_MS);
  }

  /** Waits until the program has ended. */
  async ends(): Promise<void> {
    await eventually(() => {
      if (this.#running.child.exitCode === null) throw new Error('it has not ended');
    }, SEEN_WITHIN_MS);
  }

  /** Keys as they are, without Enter. */
  press(keys: string): void {
    this.#running.child.stdin?.write(keys);
  }

  /** A line, and Enter once the program has shown that it has read it. */
  async types(line: string): Promise<void> {
    this.mark();
    this.press(line);
    await this.sees(new RegExp(escaped(line.slice(-20))));
    this.mark();
    this.press('\r');
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const ESC = '\u001b';
const sequences = new RegExp(
  `${ESC}\\][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\)|${ESC}[\\[(][0-9;?<>=]*[A-Za-z]|${ESC}[=>78]|${ESC}_[^${ESC}]*${ESC}\\\\`,
  'g',
);

const plain = (text: string): string => text.replace(sequences, '').replaceAll('\r', '');
