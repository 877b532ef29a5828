/** NatsFollow: Follow on a NatsReader, with the bytes of large entries brought in their place. */
import { TroupeError } from '../../protocols/errors.ts';
import { type Follow, type LogEntry, READ_BYTES_DEFAULT } from './log.ts';
import type { StoredEntry } from './nats-entry.ts';
import type { NatsReader } from './nats-reader.ts';

export class NatsFollow implements Follow {
  readonly #reader: NatsReader;
  readonly #subject: string;
  readonly #whole: (entries: readonly StoredEntry[]) => Promise<readonly LogEntry[]>;
  readonly #onClose: () => void;
  #asked = false;
  #closed = false;
  /** the log itself was closed */
  #refusal: TroupeError | undefined;

  constructor(options: {
    reader: NatsReader;
    subject: string;
    /** the entries with their bytes, less those that were trimmed meanwhile */
    whole: (entries: readonly StoredEntry[]) => Promise<readonly LogEntry[]>;
    onClose: () => void;
  }) {
    this.#reader = options.reader;
    this.#subject = options.subject;
    this.#whole = options.whole;
    this.#onClose = options.onClose;
  }

  get pending(): number | undefined {
    return this.#reader.pending;
  }

  async next(): Promise<readonly LogEntry[]> {
    if (this.#asked)
      throw new TroupeError('INTERNAL', `two readers of one follow of ${this.#subject}`);
    this.#asked = true;
    try {
      return await this.#next();
    } finally {
      this.#asked = false;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader.close();
    this.#onClose();
  }

  /** Ends it because the log is closed: a waiting `next` fails. */
  refuse(refusal: TroupeError): void {
    this.#refusal = refusal;
    this.#reader.close();
  }

  /** A complete entry leaves the reader; after a failure it is there at the next call. */
  async #next(): Promise<readonly LogEntry[]> {
    for (;;) {
      await this.#reader.some();
      const stored = this.#reader.peek(READ_BYTES_DEFAULT);
      const entries = await this.#whole(stored);
      if (this.#closed) return [];
      if (this.#refusal) throw this.#refusal;
      this.#reader.drop(stored.length);
      if (entries.length > 0) return entries;
    }
  }
}
