/**
 * Prints an answer while it grows, on a stream that can not take anything back.
 *
 * Invariants:
 *  1. No character of an answer is printed twice, unless the final answer is not what was streamed.
 *  2. After `finish` the whole final answer has been printed.
 */

export const replacedNote = '[the answer was begun again; this is the one that counts]';

export class AnswerPrinter {
  readonly #write: (text: string) => void;
  #shown = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /**
   * The answer so far. What does not go on from the printed text is held back: it may come to do so
   * (a model call that was begun again), and if not, `finish` prints it.
   */
  show(text: string): void {
    if (!text.startsWith(this.#shown)) return;
    this.#write(text.slice(this.#shown.length));
    this.#shown = text;
  }

  /** The final answer, and the end of its last line. */
  finish(text: string): void {
    if (text !== '' && !text.startsWith(this.#shown)) {
      this.#write(`\n${replacedNote}\n`);
      this.#shown = '';
    }
    this.show(text);
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#write('\n');
    this.#shown = '';
  }
}
