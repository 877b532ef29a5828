/**
 * Prints an answer while it grows, on a stream that cannot take anything back.
 *
 * Invariants:
 *  1. No character of an answer is printed twice, unless the final answer is not what was streamed.
 *  2. After `finish` every message and the whole final answer have been printed, each once.
 */

export const replacedNote = '[the answer was begun again; this is the one that counts]';

export class AnswerPrinter {
  readonly #write: (text: string) => void;
  #shown = '';
  /** printed when they were sent */
  readonly #messages: string[] = [];

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

  /** A message that was sent while the run goes on: the text so far is complete. */
  message(text: string): void {
    this.#messages.push(text);
    this.#paragraph(text);
  }

  #paragraph(text: string): void {
    this.#endLine();
    this.#write(text.endsWith('\n') ? text : `${text}\n`);
  }

  #endLine(): void {
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#write('\n');
    this.#shown = '';
  }

  /** The final answer with the end of its last line, after the messages not printed yet. */
  finish(text: string, messages: readonly string[] = []): void {
    for (const message of messages) {
      const at = this.#messages.indexOf(message);
      if (at < 0) this.#paragraph(message);
      else this.#messages.splice(at, 1);
    }
    if (text !== '' && !text.startsWith(this.#shown)) {
      this.#write(`\n${replacedNote}\n`);
      this.#shown = '';
    }
    this.show(text);
    this.#endLine();
  }
}
