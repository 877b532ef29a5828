/**
 * Imports transcripts: the entries of one transcript in order, many transcripts concurrently,
 * because each append waits for its answer.
 */
import type { Log } from '../log/log.ts';
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
   * @throws the error of an earlier page
   */
  async append(actor: string, entries: readonly Uint8Array[]): Promise<void> {
    if (this.#current?.actor !== actor) {
      this.#current = { actor, appender: new Appender(this.#log, this.#subjectOf(actor)) };
      this.#last = Promise.resolve();
    }
    const { appender } = this.#current;
    const page = this.#last.then(async () => {
      for (const bytes of entries) await appender.append(bytes);
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
