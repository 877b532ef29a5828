/**
 * Subjects of the embedded log: which positions of each are in LMDB, which entries are only in the
 * write-ahead log and therefore also in memory, and which are to be removed.
 *
 *   first .. stored     in LMDB, without gaps; none when first is above stored
 *   stored + 1 .. last  in memory (`pending`), until a checkpoint has written them
 *   up to `trimmed`     hidden from readers, removed by the next checkpoint
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { WriteBehindSource } from './checkpointer.ts';
import {
  decodeEntry,
  decodeNumber,
  encodeNumber,
  entryKey,
  entryOf,
  nameInKey,
  positionOfKey,
  subjectKey,
  subjectOfKey,
  subjectPrefix,
} from './entry-row.ts';
import type { LogEntry, Position } from './log.ts';
import { prefixEnd, type RowsRead, type RowWrite } from './rows.ts';
import type { FrameEntry } from './wal/frame.ts';

export type Subject = {
  readonly name: string;
  readonly nameBytes: Buffer;
  /** of its row in `meta` */
  readonly key: Buffer;
  readonly number: number;
  /** LMDB names it */
  isStored: boolean;
  first: Position;
  stored: Position;
  /** values of the positions from stored + 1 on, without gaps */
  pending: Buffer[];
  trimmed: Position;
  /** position of the last entry that readers see */
  last: Position;
  /** position of the last entry of a frame; above `last` while that frame is being synced */
  assigned: Position;
};

/** Subjects whose number and last position are kept in memory. */
const SUBJECTS_MAX = 100_000;
/** Entries of one subject that one checkpoint removes, so that it stays short. */
const REMOVED_PER_CHECKPOINT = 5_000;
/** Keys of subjects that are read in one go. */
const SUBJECTS_PER_PAGE = 1_000;
const NEXT_SUBJECT = Buffer.from('next-subject');

type Taken = {
  readonly subject: Subject;
  readonly last: Position;
  /** rows below are removed */
  readonly first: Position;
};

type TrimWaiter = {
  readonly subject: Subject;
  readonly upTo: Position;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

export class Subjects implements WriteBehindSource {
  readonly #rows: RowsRead;
  readonly #byName = new Map<string, Subject>();
  /** with pending entries, or with entries to remove */
  readonly #dirty = new Set<Subject>();
  /** the part of a checkpoint that is being written */
  #taken: readonly Taken[] = [];
  #trimWaiters: TrimWaiter[] = [];
  #nextNumber: number;

  constructor(rows: RowsRead) {
    this.#rows = rows;
    const next = rows.get('meta', NEXT_SUBJECT);
    this.#nextNumber = next === undefined ? 1 : decodeNumber(next);
  }

  /** A subject that has an entry. Also one with the given name whose first entry is on its way. */
  find(name: string): Subject | undefined {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const key = subjectKey(name);
    const bytes = this.#rows.get('meta', key);
    if (bytes === undefined) return undefined;
    const number = decodeNumber(bytes);
    const all = { from: entryKey(number, 0), to: entryKey(number + 1, 0), limit: 1 };
    const [first] = this.#rows.keys('log', all);
    const [last] = this.#rows.keys('log', { ...all, reverse: true });
    const stored = last === undefined ? 0 : positionOfKey(last);
    return this.#add({
      ...newSubject(name, key, number),
      isStored: true,
      first: first === undefined ? stored + 1 : positionOfKey(first),
      stored,
      last: stored,
      assigned: stored,
    });
  }

  findOrMake(name: string): Subject {
    return this.find(name) ?? this.#add(newSubject(name, subjectKey(name), this.#nextNumber++));
  }

  /** @throws TroupeError INVALID_ARGUMENT when it is no name of a subject */
  assertName(name: string): void {
    if (!this.#byName.has(name)) subjectKey(name);
  }

  lastKnown(name: string): Position {
    return this.#byName.get(name)?.last ?? 0;
  }

  /** The next entry of a subject has the promised durability: readers see it. */
  store(subject: Subject, value: Buffer): void {
    subject.last++;
    subject.pending.push(value);
    this.#dirty.add(subject);
  }

  /** An entry of a frame that the last checkpoint does not contain. */
  replay({ subject: name, position, value }: FrameEntry): void {
    const subject = this.findOrMake(name);
    if (position !== subject.last + 1)
      throw new TroupeError(
        'INTERNAL',
        `entry ${position} of ${name} follows entry ${subject.last} in the log`,
        { details: { reason: 'CORRUPT', subject: name, position } },
      );
    subject.assigned = position;
    this.store(subject, value);
  }

  /** Entries that readers see, from a position on, oldest first. */
  *entries(subject: Subject, from: Position, limit: number): Iterable<LogEntry> {
    const start = Math.max(from, subject.trimmed + 1, 1);
    const { name, number, stored, last, pending } = subject;
    if (start <= stored) {
      const range = { from: entryKey(number, start), to: entryKey(number, stored + 1), limit };
      for (const row of this.#rows.range('log', range)) yield decodeEntry(name, row);
    }
    for (let position = Math.max(start, stored + 1); position <= last; position++)
      yield entryOf(position, pending[position - stored - 1]!);
  }

  lastEntry(subject: Subject): LogEntry | undefined {
    const { name, number, stored, last, pending } = subject;
    if (last === 0) return undefined;
    if (last > stored) return entryOf(last, pending[last - stored - 1]!);
    const key = entryKey(number, last);
    const value = this.#rows.get('log', key);
    return value && decodeEntry(name, { key, value });
  }

  /** Hides entries at once; resolves when they are removed from LMDB. */
  trim(subject: Subject, upTo: Position): Promise<void> {
    const end = Math.min(upTo, subject.last - 1);
    if (end <= subject.trimmed && end < subject.first) return Promise.resolve();
    subject.trimmed = Math.max(subject.trimmed, end);
    this.#dirty.add(subject);
    return new Promise((resolve, reject) => {
      this.#trimWaiters.push({ subject, upTo: end, resolve, reject });
    });
  }

  /** Every name that starts with the prefix and ever had an entry, in order of bytes. */
  *names(prefix: string): Iterable<string> {
    const start = subjectPrefix(prefix);
    const to = prefixEnd(start);
    const isNew = ({ isStored, last, name }: Subject) =>
      !isStored && last > 0 && name.startsWith(prefix);
    const added = [...this.#byName.values()].filter(isNew).map(({ key }) => key);
    added.sort((a, b) => Buffer.compare(a, b));
    for (let from: Uint8Array = start; ; ) {
      const keys = [...this.#rows.keys('meta', { from, to, limit: SUBJECTS_PER_PAGE })];
      for (const key of keys) {
        while (added.length > 0 && Buffer.compare(added[0]!, key) < 0)
          yield subjectOfKey(added.shift()!);
        yield subjectOfKey(key);
      }
      if (keys.length < SUBJECTS_PER_PAGE) break;
      from = Buffer.concat([keys.at(-1)!, Buffer.from([0])]);
    }
    for (const key of added) yield subjectOfKey(key);
  }

  take(writes: RowWrite[]): void {
    const taken: Taken[] = [];
    const nextNumber = this.#nextNumber;
    let hasNew = false;
    for (const subject of this.#dirty) {
      const { key, number, last, stored, trimmed, pending } = subject;
      if (!subject.isStored) {
        writes.push({ table: 'meta', key, value: encodeNumber(number) });
        hasNew = true;
      }
      const first = Math.min(trimmed + 1, subject.first + REMOVED_PER_CHECKPOINT);
      for (let position = subject.first; position < first && position <= stored; position++)
        writes.push({ table: 'log', key: entryKey(number, position), value: null });
      // Nothing is left out above rows that stay for now: LMDB never has a gap.
      const skipped = first > Math.min(trimmed, stored) ? Math.max(stored, trimmed) : stored;
      for (let position = skipped + 1; position <= last; position++) {
        const value = pending[position - stored - 1]!;
        writes.push({ table: 'log', key: entryKey(number, position), value });
      }
      taken.push({ subject, last, first });
    }
    if (hasNew) writes.push({ table: 'meta', key: NEXT_SUBJECT, value: encodeNumber(nextNumber) });
    this.#taken = taken;
    this.#dirty.clear();
  }

  committed(): void {
    for (const { subject, last, first } of this.#taken) {
      subject.isStored = true;
      subject.pending = subject.pending.slice(last - subject.stored);
      subject.stored = last;
      subject.first = Math.max(subject.first, first);
      if (subject.first <= subject.trimmed) this.#dirty.add(subject);
    }
    this.#taken = [];
    this.#trimWaiters = this.#trimWaiters.filter(({ subject, upTo, resolve }) => {
      if (subject.first <= upTo) return true;
      resolve();
      return false;
    });
    this.#forgetIdle();
  }

  failed(cause: TroupeError): void {
    for (const { subject } of this.#taken) this.#dirty.add(subject);
    this.#taken = [];
    for (const { reject } of this.#trimWaiters.splice(0)) reject(cause);
  }

  #add(subject: Subject): Subject {
    this.#byName.set(subject.name, subject);
    return subject;
  }

  /** Forgets subjects beyond the bound, whose facts are all in LMDB. */
  #forgetIdle(): void {
    if (this.#byName.size <= SUBJECTS_MAX) return;
    for (const [name, subject] of this.#byName) {
      if (this.#byName.size <= SUBJECTS_MAX) return;
      const { assigned, stored, isStored } = subject;
      if (isStored && assigned === stored && !this.#dirty.has(subject)) this.#byName.delete(name);
    }
  }
}

const newSubject = (name: string, encoded: Uint8Array, number: number): Subject => {
  // Memory of its own: a part of Node's pool would keep 8 KiB of it for as long as the subject.
  const key = Buffer.allocUnsafeSlow(encoded.length);
  key.set(encoded);
  return {
    name,
    nameBytes: nameInKey(key),
    key,
    number,
    isStored: false,
    first: 1,
    stored: 0,
    pending: [],
    trimmed: 0,
    last: 0,
    assigned: 0,
  };
};
