/**
 * LmdbLog: the Log of the embedded store. Positions are given out here, in the order in which
 * appends take their turn in the group commit; the rows only remember them.
 *
 * Invariants:
 *  - an append is decided (stored at which position, or refused) when its transaction is built,
 *    from what is committed and what the same transaction stores before it, so P2 holds without any
 *    lock;
 *  - an append and its alongside are one request, hence one transaction;
 *  - memory follows the disk: `last` and the tails move only when a transaction is settled;
 *  - the last entry of a subject is never removed, so `last` can always be found again (P4).
 */
import type { Clock } from '../clock/clock.ts';
import { LogTime } from './log-time.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { checkPuts, encodeValue, stateKey } from '../state/row.ts';
import {
  decodeEntry,
  decodeNumber,
  encodeEntry,
  encodeNumber,
  entryKey,
  entryOf,
  positionOfKey,
  subjectKey,
  subjectOfKey,
  subjectPrefix,
} from './entry-row.ts';
import { followByReading } from './follow.ts';
import type { AppendOutcome, GroupCommit } from './group-commit.ts';
import {
  type AtomicAppends,
  type AppendAnswer,
  type AppendOptions,
  AppendUnknown,
  type Follow,
  type Log,
  type LogEntry,
  type Position,
  READ_BYTES_DEFAULT,
  READ_LIMIT_DEFAULT,
  type ReadOptions,
} from './log.ts';
import { prefixEnd, type RowRange, type Rows, type RowWrite } from './rows.ts';
import { Tails } from './tail.ts';
import { Watchers } from './watchers.ts';

/** Subjects whose number and last position are kept in memory. */
const SUBJECTS_MAX = 100_000;
/** Entries one transaction of a trim removes, so that appends are not held up. */
const TRIM_ENTRIES_PER_TRANSACTION = 5_000;
/** Keys of subjects that are read in one go. */
const SUBJECTS_PER_PAGE = 1_000;
const NEXT_SUBJECT = Buffer.from('next-subject');
const NONE: AtomicAppends = { entries: [], puts: [] };

type Subject = {
  readonly name: string;
  readonly number: number;
  /** its number is stored */
  known: boolean;
  /** position of the last committed entry */
  last: Position;
  /** position of the last entry of the transaction under way; equal to `last` when there is none */
  assigned: Position;
};

type Stored = { readonly subject: Subject; readonly entry: LogEntry };

type Append = {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly expectedLast: Position | undefined;
  readonly alongside: AtomicAppends;
  answer(answer: AppendAnswer): void;
  reject(error: Error): void;
};

export class LmdbLog implements Log {
  readonly atomic = true;
  readonly #rows: Rows;
  readonly #commits: GroupCommit;
  readonly #time: LogTime;
  readonly #subjects = new Map<string, Subject>();
  readonly #tails = new Tails();
  readonly #watchers = new Watchers();
  #nextNumber: number;
  #closed = false;

  constructor(rows: Rows, commits: GroupCommit, clock: Clock) {
    this.#rows = rows;
    this.#commits = commits;
    this.#time = new LogTime(clock);
    const next = rows.get('meta', NEXT_SUBJECT);
    this.#nextNumber = next === undefined ? 1 : decodeNumber(next);
  }

  async append(
    subject: string,
    bytes: Uint8Array,
    options: AppendOptions = {},
  ): Promise<AppendAnswer> {
    this.#assertOpen();
    const alongside = options.alongside ?? NONE;
    subjectKey(subject);
    for (const entry of alongside.entries) subjectKey(entry.subject);
    checkPuts(alongside.puts);
    return new Promise((answer, reject) => {
      const { expectedLast } = options;
      this.#submit({ subject, bytes, expectedLast, alongside, answer, reject });
    });
  }

  async last(subject: string): Promise<Position> {
    this.#assertOpen();
    return this.#find(subject)?.last ?? 0;
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    this.#assertOpen();
    const found = this.#find(subject);
    if (found === undefined || found.last === 0) return undefined;
    const cached = this.#tails.last(subject);
    if (cached !== undefined) return cached;
    const [row] = this.#rows.range('log', { ...entriesOf(found), reverse: true, limit: 1 });
    return row === undefined ? undefined : decodeEntry(subject, row);
  }

  async read(
    subject: string,
    from: Position,
    options: ReadOptions = {},
  ): Promise<readonly LogEntry[]> {
    this.#assertOpen();
    const found = this.#find(subject);
    if (found === undefined || from > found.last) return [];
    const limit = options.limit ?? READ_LIMIT_DEFAULT;
    const bytesMax = options.bytesMax ?? READ_BYTES_DEFAULT;
    const entries: LogEntry[] = [];
    let bytes = 0;
    for (const entry of this.#tails.from(subject, from) ?? this.#stored(found, from, limit)) {
      if (entries.length >= limit) break;
      entries.push(entry);
      bytes += entry.bytes.length;
      if (bytes >= bytesMax) break;
    }
    return entries;
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
    while (await this.#trimSome(subject, upTo)) this.#assertOpen();
  }

  /** Every subject that starts with the prefix and ever held an entry, in order of bytes. */
  *subjects(prefix: string): Iterable<string> {
    const start = subjectPrefix(prefix);
    const to = prefixEnd(start);
    for (let from: Uint8Array = start; ; ) {
      this.#assertOpen();
      const keys = [...this.#rows.keys('meta', { from, to, limit: SUBJECTS_PER_PAGE })];
      for (const key of keys) yield subjectOfKey(key);
      if (keys.length < SUBJECTS_PER_PAGE) return;
      from = Buffer.concat([keys.at(-1)!, Buffer.from([0])]);
    }
  }

  /** Refuses all that comes; the store closes the rows below it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
  }

  /** Forgets subjects beyond the bound; only between transactions, when memory equals the disk. */
  forgetIdleSubjects(): void {
    for (const name of this.#subjects.keys()) {
      if (this.#subjects.size <= SUBJECTS_MAX) return;
      this.#subjects.delete(name);
      this.#tails.drop(name);
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new TroupeError('UNAVAILABLE', 'the log is closed');
    this.#commits.assertSound();
  }

  #submit(append: Append): void {
    let stored: Stored[] | undefined;
    let refusedAt = 0;
    this.#commits.submit({
      bytes: sizeOf(append),
      build: (writes) => {
        const subject = this.#findOrMake(append.subject);
        refusedAt = subject.assigned;
        if (append.expectedLast !== undefined && append.expectedLast !== subject.assigned) return;
        stored = this.#write(append, subject, writes);
      },
      committed: () => {
        if (stored === undefined) return append.answer({ kind: 'refused', last: refusedAt });
        this.#settle(stored);
        const { position, logTimeMs } = stored[0]!.entry;
        append.answer({ kind: 'stored', position, logTimeMs });
      },
      failed: (cause, fate) => {
        if (fate === 'present') this.#settle(stored ?? []);
        else for (const { subject } of stored ?? []) subject.assigned = subject.last;
        append.reject(failure(append.subject, cause, fate));
      },
    });
  }

  /**
   * The rows of an append and all its alongside, the append's own entry first. Reads before it
   * writes.
   */
  #write(append: Append, subject: Subject, writes: RowWrite[]): Stored[] {
    const { entries, puts } = append.alongside;
    const subjects = entries.map((entry) => this.#findOrMake(entry.subject));
    const stored = [this.#writeEntry(subject, append.bytes, writes)];
    entries.forEach((entry, i) => stored.push(this.#writeEntry(subjects[i]!, entry.bytes, writes)));
    for (const put of puts) {
      writes.push({
        table: 'state',
        key: stateKey(put.shard, put.table, put.key),
        value: put.value === null ? null : encodeValue(put.value),
      });
    }
    return stored;
  }

  #writeEntry(subject: Subject, bytes: Uint8Array, writes: RowWrite[]): Stored {
    if (!subject.known) {
      const value = encodeNumber(subject.number);
      writes.push({ table: 'meta', key: subjectKey(subject.name), value });
      writes.push({ table: 'meta', key: NEXT_SUBJECT, value: encodeNumber(this.#nextNumber) });
    }
    subject.assigned += 1;
    const logTimeMs = this.#time.now();
    const value = encodeEntry(subject.assigned, logTimeMs, bytes);
    writes.push({ table: 'log', key: entryKey(subject.number, subject.assigned), value });
    return { subject, entry: entryOf(subject.assigned, logTimeMs, value) };
  }

  #settle(stored: readonly Stored[]): void {
    for (const { subject, entry } of stored) {
      subject.known = true;
      subject.last = entry.position;
      this.#tails.push(subject.name, entry);
      this.#watchers.notify(subject.name);
    }
  }

  #find(name: string): Subject | undefined {
    const cached = this.#subjects.get(name);
    if (cached !== undefined) return cached;
    const bytes = this.#rows.get('meta', subjectKey(name));
    if (bytes === undefined) return undefined;
    const number = decodeNumber(bytes);
    const [key] = this.#rows.keys('log', { ...allEntries(number), reverse: true, limit: 1 });
    const last = key === undefined ? 0 : positionOfKey(key);
    const subject: Subject = { name, number, known: true, last, assigned: last };
    this.#subjects.set(name, subject);
    return subject;
  }

  #findOrMake(name: string): Subject {
    const found = this.#find(name);
    if (found !== undefined) return found;
    const number = this.#nextNumber++;
    const subject: Subject = { name, number, known: false, last: 0, assigned: 0 };
    this.#subjects.set(name, subject);
    return subject;
  }

  *#stored(subject: Subject, from: Position, limit: number): Iterable<LogEntry> {
    const range: RowRange = { ...entriesOf(subject, from), limit };
    for (const row of this.#rows.range('log', range)) {
      const entry = decodeEntry(subject.name, row);
      this.#time.found(entry.logTimeMs);
      yield entry;
    }
  }

  /** Whether there may be more to remove. */
  async #trimSome(name: string, upTo: Position): Promise<boolean> {
    const subject = this.#find(name);
    const end = Math.min(upTo, (subject?.last ?? 0) - 1);
    if (subject === undefined || end < 1) return false;
    this.#tails.trim(name, end);
    const range = {
      from: entryKey(subject.number, 0),
      to: entryKey(subject.number, end + 1),
      limit: TRIM_ENTRIES_PER_TRANSACTION,
    };
    let removed = 0;
    await new Promise<void>((resolve, reject) => {
      this.#commits.submit({
        bytes: 0,
        build: (writes) => {
          for (const key of this.#rows.keys('log', range)) {
            removed += 1;
            writes.push({ table: 'log', key, value: null });
          }
        },
        committed: resolve,
        failed: (cause, fate) => reject(failure(name, cause, fate)),
      });
    });
    return removed === TRIM_ENTRIES_PER_TRANSACTION;
  }
}

const allEntries = (number: number): RowRange => ({
  from: entryKey(number, 0),
  to: entryKey(number + 1, 0),
});

/** Committed entries from a position on. */
const entriesOf = (subject: Subject, from: Position = 0): RowRange => ({
  from: entryKey(subject.number, Math.max(0, from)),
  to: entryKey(subject.number, subject.last + 1),
});

const sizeOf = ({ bytes, alongside }: Append): number => {
  let size = bytes.length;
  for (const entry of alongside.entries) size += entry.bytes.length;
  for (const put of alongside.puts) size += put.key.length + (put.value?.length ?? 0);
  return size;
};

const failure = (subject: string, cause: unknown, fate: AppendOutcome): Error =>
  fate !== 'absent'
    ? new AppendUnknown(subject, { cause })
    : new TroupeError(
        'UNAVAILABLE',
        `the store could not write (is the disk full?); nothing was stored: ${String(cause)}`,
        { details: { reason: 'STORE_WRITE_FAILED', subject }, cause },
      );
