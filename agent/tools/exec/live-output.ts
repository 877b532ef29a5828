/**
 * Publishes a command's output to watchers while it runs: at most ten updates per second, each of
 * limited size. A flood of output does not slow the run.
 */
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';

const EVERY_MS = 100;
const CHARACTERS_MAX = 4_096;

export class LiveOutput {
  readonly #publish: (delta: string) => void;
  readonly #decoders = [new StringDecoder('utf8'), new StringDecoder('utf8')];
  #waiting = '';
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(publish: (delta: string) => void) {
    this.#publish = publish;
  }

  /** `stream`: 0 standard output, 1 standard error */
  add(stream: 0 | 1, chunk: Buffer): void {
    const decoder = this.#decoders[stream];
    this.#waiting += decoder?.write(chunk) ?? '';
    const over = this.#waiting.length - CHARACTERS_MAX;
    if (over > 0) {
      this.#skipped += over;
      this.#waiting = this.#waiting.slice(over);
    }
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  /** Publishes the rest; later output is ignored. */
  end(): void {
    clearTimeout(this.#timer);
    this.#flush();
  }

  #flush(): void {
    this.#timer = undefined;
    const note = this.#skipped > 0 ? `[${this.#skipped} characters more]\n` : '';
    const delta = note + stripVTControlCharacters(this.#waiting);
    this.#waiting = '';
    this.#skipped = 0;
    if (delta !== '') this.#publish(delta);
  }
}
