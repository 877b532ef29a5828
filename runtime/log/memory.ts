/**
 * The store in memory: the complete contract of Log and State without a disk. For tests, the
 * simulator and temporary runs; all data is lost with the process.
 */
import { randomBytes } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { LogTime } from './log-time.ts';
import { MemoryState } from '../state/memory.ts';
import type { State } from '../state/state.ts';
import { subjectKey } from './entry-row.ts';
import { followByReading } from './follow.ts';
import {
  type AppendAnswer,
  type AppendOptions,
  type Follow,
  type Log,
  type LogEntry,
  type Position,
  READ_BYTES_DEFAULT,
  READ_LIMIT_DEFAULT,
  type ReadOptions,
} from './log.ts';
import { Watchers } from './watchers.ts';

export type MemoryStoreOptions = {
  readonly clock: Clock;
  /** whether `alongside` is honoured, as embedded, or refused, as in a cluster; default true */
  readonly atomic?: boolean;
  /** default random */
  readonly cell?: string;
};

export type MemoryStore = { readonly log: MemoryLog; readonly state: State; readonly cell: string };

export const createMemoryStore = (options: MemoryStoreOptions): MemoryStore => {
  const { clock, atomic = true, cell = randomBytes(16).toString('hex') } = options;
  return { log: new MemoryLog(clock, atomic), state: new MemoryState(), cell };
};

type Subject = {
  /** entries before `first` are trimmed */
  entries: LogEntry[];
  first: number;
  last: Position;
};

export class MemoryLog implements Log {
  readonly atomic: boolean;
  readonly #time: LogTime;
  readonly #subjects = new Map<string, Subject>();
  readonly #watchers = new Watchers();
  #closed = false;

  constructor(clock: Clock, atomic: boolean) {
    this.atomic = atomic;
    this.#time = new LogTime(clock);
  }

  async append(
    subject: string,
    bytes: Uint8Array,
    options: AppendOptions = {},
  ): Promise<AppendAnswer> {
    return this.appendNow(subject, bytes, options);
  }

  /** `append` at this very moment; the simulator decides itself when that is. */
  appendNow(subject: string, bytes: Uint8Array, options: AppendOptions = {}): AppendAnswer {
    this.#assertOpen();
    const { expectedLast, alongside } = options;
    subjectKey(subject);
    for (const entry of alongside?.entries ?? []) subjectKey(entry.subject);
    if (alongside !== undefined && !this.atomic) {
      throw new TroupeError(
        'INVALID_ARGUMENT',
        'this log is not atomic: it stores nothing alongside',
      );
    }
    const last = this.#subjects.get(subject)?.last ?? 0;
    if (expectedLast !== undefined && expectedLast !== last) return { kind: 'refused', last };
    const { position, logTimeMs } = this.#store(subject, bytes);
    for (const entry of alongside?.entries ?? []) this.#store(entry.subject, entry.bytes);
    return { kind: 'stored', position, logTimeMs };
  }

  async last(subject: string): Promise<Position> {
    this.#assertOpen();
    return this.#subjects.get(subject)?.last ?? 0;
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    this.#assertOpen();
    return this.#subjects.get(subject)?.entries.at(-1);
  }

  async read(
    subject: string,
    from: Position,
    options: ReadOptions = {},
  ): Promise<readonly LogEntry[]> {
    this.#assertOpen();
    const { limit = READ_LIMIT_DEFAULT, bytesMax = READ_BYTES_DEFAULT } = options;
    const found = this.#subjects.get(subject);
    if (found === undefined || found.last < from) return [];
    const read: LogEntry[] = [];
    let bytes = 0;
    const start = Math.max(found.first, found.entries.length - 1 - (found.last - from));
    for (let i = start; i < found.entries.length && read.length < limit; i++) {
      const entry = found.entries[i]!;
      read.push(entry);
      bytes += entry.bytes.length;
      if (bytes >= bytesMax) break;
    }
    return read;
  }

  follow(subject: string, from: Position): Follow {
    return followByReading(this, subject, from);
  }

  watch(subject: string, onAppended: () => void): () => void {
    return this.#watchers.add(subject, onAppended);
  }

  lastKnown(subject: string): Position {
    return this.#subjects.get(subject)?.last ?? 0;
  }

  async trim(subject: string, upTo: Position): Promise<void> {
    this.#assertOpen();
    const found = this.#subjects.get(subject);
    if (found === undefined) return;
    const end = Math.min(upTo, found.last - 1);
    while (found.entries[found.first]!.position <= end) found.first += 1;
    if (found.first * 2 > found.entries.length) {
      found.entries = found.entries.slice(found.first);
      found.first = 0;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the log is closed');
  }

  #store(subject: string, bytes: Uint8Array): LogEntry {
    const found = this.#subjects.get(subject) ?? { entries: [], first: 0, last: 0 };
    this.#subjects.set(subject, found);
    found.last += 1;
    const entry = {
      position: found.last,
      bytes: Uint8Array.from(bytes),
      logTimeMs: this.#time.now(),
    };
    found.entries.push(entry);
    this.#watchers.notify(subject);
    return entry;
  }
}
