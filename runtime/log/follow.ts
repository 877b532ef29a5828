/**
 * followByReading: Follow for logs whose reads cost nothing, on their `read` and their own notice
 * of appends.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Follow, LogEntry, Position, ReadOptions } from './log.ts';

const READ_ENTRIES = 256;

export type FollowSource = {
  read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]>;
  /** calls after entries were stored; may come late or once for many. Returns unsubscribe */
  watch(subject: string, onAppended: () => void): () => void;
  /** position of the last entry stored, as far as is known */
  lastKnown(subject: string): Position;
};

export function followByReading(source: FollowSource, subject: string, from: Position): Follow {
  return new ReadingFollow(source, subject, from);
}

class ReadingFollow implements Follow {
  readonly #source: FollowSource;
  readonly #subject: string;
  readonly #unwatch: () => void;
  #next: Position;
  #hasRead = false;
  /** appends were reported since the last read began */
  #appended = false;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(source: FollowSource, subject: string, from: Position) {
    this.#source = source;
    this.#subject = subject;
    this.#next = from;
    this.#unwatch = source.watch(subject, () => {
      this.#appended = true;
      this.#wake?.();
    });
  }

  get pending(): number | undefined {
    if (!this.#hasRead) return undefined;
    return Math.max(0, this.#source.lastKnown(this.#subject) - Math.max(this.#next, 1) + 1);
  }

  async next(): Promise<readonly LogEntry[]> {
    if (this.#wake)
      throw new TroupeError('INTERNAL', `two readers of one follow of ${this.#subject}`);
    while (!this.#closed) {
      this.#appended = false;
      const entries = await this.#source.read(this.#subject, this.#next, { limit: READ_ENTRIES });
      this.#hasRead = true;
      if (this.#closed) break;
      const last = entries.at(-1);
      if (last) {
        this.#next = last.position + 1;
        return entries;
      }
      if (!this.#appended) await this.#somethingHappens();
    }
    return [];
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#wake?.();
  }

  #somethingHappens(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
