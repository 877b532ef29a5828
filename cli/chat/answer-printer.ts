/**
 * Prints a growing answer on an append-only stream.
 *
 * Invariants:
 *  1. No character of an answer is printed twice, unless the final answer differs from the streamed
 *     text.
 *  2. After `finish` every message and the whole final answer have been printed once, the answer
 *     without white space around it.
 */

export const replacedNote = '[the answer was restarted; this is the final one]';

export class AnswerPrinter {
  readonly #write: (text: string) => void;
  #shown = '';
  /** the messages that were printed when they were sent */
  readonly #messages: string[] = [];

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /**
   * Prints the answer so far. Text that does not continue the printed text is held back, because a
   * model call may have been restarted and may still reach the same text. If not, `finish` prints
   * it.
   */
  show(streamed: string): void {
    // The final answer is trimmed; white space that words follow is printed with them.
    const text = streamed.trim();
    if (!text.startsWith(this.#shown)) return;
    this.#write(text.slice(this.#shown.length));
    this.#shown = text;
  }

  /** A message that the run sent before it ended: the text so far is complete. */
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

  /**
   * Prints the messages that are not printed yet, then the rest of the final answer with a line
   * end.
   */
  finish(answer: string, messages: readonly string[] = []): void {
    const text = answer.trim();
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
