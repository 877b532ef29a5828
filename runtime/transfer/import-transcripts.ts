/**
 * Imports transcripts and other subjects of actors: the entries of each in order, many subjects
 * concurrently, because each append waits for its answer.
 */
import type { Log, Position } from '../log/log.ts';
import { Appender } from './appender.ts';

/** Maximum number of pages that are stored concurrently. */
const PAGES_MAX = 64;

export class TranscriptImport {
  readonly #log: Log;
  readonly #subjectOf: (actor: string) => string;
  /** by actor: the writer of its transcript */
  #current: { readonly actor: string; readonly appender: Appender } | undefined;
  /** the last page of the current one */
  #last: Promise<void> = Promise.resolve();
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(log: Log, subjectOf: (actor: string) => string) {
    this.#log = log;
    this.#subjectOf = subjectOf;
  }

  /**
   * Resolves when there is room for the next page; the pages of an actor come one after the other.
   * @param onStored receives the index of each entry, and its position
   * @throws the error of an earlier page
   */
  async append(
    actor: string,
    entries: readonly Uint8Array[],
    onStored?: (at: number, position: Position) => void,
  ): Promise<void> {
    if (this.#current?.actor !== actor) {
      this.#current = { actor, appender: new Appender(this.#log, this.#subjectOf(actor)) };
      this.#last = Promise.resolve();
    }
    const { appender } = this.#current;
    const page = this.#last.then(async () => {
      for (const [at, bytes] of entries.entries()) {
        const position = await appender.append(bytes);
        onStored?.(at, position);
      }
    });
    this.#last = page;
    const running = page.then(
      () => void this.#running.delete(running),
      (error: unknown) => {
        this.#failure ??= { error };
        this.#running.delete(running);
      },
    );
    this.#running.add(running);
    if (this.#running.size >= PAGES_MAX) await Promise.race(this.#running);
    this.throwFailure();
  }

  /** Resolves when every page is stored, or has failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** @throws the error of a page */
  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
