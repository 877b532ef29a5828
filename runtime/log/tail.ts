/**
 * Tails: the newest entries of each subject in memory, so that a read right after an append (mostly
 * by the owner of a mailbox) needs no disk. It is only a cache: entries are as stored, a subject's
 * tail has no gaps and ends with its last entry, and any of it may be dropped at any time.
 *
 * Bounded (I8) per subject and in total; the subject with the oldest append is dropped first.
 */
import type { LogEntry, Position } from './log.ts';

export const TAIL_ENTRIES_MAX = 1024;
export const TAIL_BYTES_MAX = 4 * 2 ** 20;
export const TAILS_BYTES_MAX = 32 * 2 ** 20;

/** Counted per entry in addition to its bytes: the object and its buffer's header. */
const ENTRY_OVERHEAD_BYTES = 160;

class Tail {
  /** entries before `start` are gone */
  entries: LogEntry[] = [];
  start = 0;
  bytes = 0;

  get length(): number {
    return this.entries.length - this.start;
  }

  dropFirst(): number {
    const bytes = sizeOf(this.entries[this.start]!);
    this.start += 1;
    this.bytes -= bytes;
    if (this.start * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.start);
      this.start = 0;
    }
    return bytes;
  }
}

const sizeOf = (entry: LogEntry): number => entry.bytes.length + ENTRY_OVERHEAD_BYTES;

export class Tails {
  /** in order of the last push */
  readonly #tails = new Map<string, Tail>();
  #bytes = 0;

  /** The entry must be the subject's newest. */
  push(subject: string, entry: LogEntry): void {
    const tail = this.#tails.get(subject) ?? new Tail();
    this.#tails.delete(subject);
    this.#tails.set(subject, tail);
    tail.entries.push(entry);
    tail.bytes += sizeOf(entry);
    this.#bytes += sizeOf(entry);
    while (tail.length > TAIL_ENTRIES_MAX || (tail.bytes > TAIL_BYTES_MAX && tail.length > 1)) {
      this.#bytes -= tail.dropFirst();
    }
    for (const [oldest] of this.#tails) {
      if (this.#bytes <= TAILS_BYTES_MAX) break;
      this.drop(oldest);
    }
  }

  /** Entries from `from` on, newest last; undefined when the tail does not reach back that far. */
  from(subject: string, from: Position): readonly LogEntry[] | undefined {
    const tail = this.#tails.get(subject);
    const first = tail?.entries[tail.start];
    if (tail === undefined || first === undefined || first.position > from) return undefined;
    return tail.entries.slice(tail.start + countBelow(tail, from));
  }

  last(subject: string): LogEntry | undefined {
    return this.#tails.get(subject)?.entries.at(-1);
  }

  trim(subject: string, upTo: Position): void {
    const tail = this.#tails.get(subject);
    while (tail !== undefined && tail.length > 1 && tail.entries[tail.start]!.position <= upTo) {
      this.#bytes -= tail.dropFirst();
    }
  }

  drop(subject: string): void {
    this.#bytes -= this.#tails.get(subject)?.bytes ?? 0;
    this.#tails.delete(subject);
  }
}

/** How many entries of the tail lie below the position (binary search: positions may have gaps). */
const countBelow = (tail: Tail, position: Position): number => {
  let low = 0;
  let high = tail.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tail.entries[tail.start + middle]!.position < position) low = middle + 1;
    else high = middle;
  }
  return low;
};
