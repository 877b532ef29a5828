/**
 * Log: append-only subjects with rising positions. The port under mailboxes, journals, transcripts
 * and dead letters. P1 to P5 of the commit protocol are its contract;
 * `test/runtime/log/contract.ts` runs them on every adapter.
 *
 * Guarantees every adapter gives:
 *  - P1 an append is *stored*, *refused* (the expectation failed, nothing was stored) or *unknown*
 *    (rejects with AppendUnknown: it may be stored now, later or never);
 *  - P2 with `expectedLast` at most one append per value is stored;
 *  - P3 reads come in position order and show every answered append; `last` is linearizable;
 *  - P4 a trim removes positions <= upTo, may be repeated, never removes the last entry of a
 *    subject; positions are never used again, also not after a restart;
 *  - P5 every entry has the log's own time.
 */

/** Position of an entry in its subject: a safe integer from 1; 0 means "before the first". */
export type Position = number;

export type LogEntry = {
  readonly position: Position;
  readonly bytes: Uint8Array;
  readonly logTimeMs: number;
};

export type AppendAnswer =
  /** `logTimeMs` only if the log includes it in its answer; `readLast` always does */
  | { readonly kind: 'stored'; readonly position: Position; readonly logTimeMs?: number }
  | { readonly kind: 'refused'; readonly last: Position };

/** Stored as one unit with the append, or not stored. Only where `Log.atomic` is true. */
export type AtomicAppends = {
  readonly entries: readonly { readonly subject: string; readonly bytes: Uint8Array }[];
};

export type AppendOptions = {
  /** store only if this is the position of the subject's last entry (0: none was ever stored) */
  readonly expectedLast?: Position;
  readonly alongside?: AtomicAppends;
};

export type ReadOptions = {
  /** maximum number of entries; default READ_LIMIT_DEFAULT */
  readonly limit?: number;
  /**
   * stop after this number of bytes (at least one entry is returned); default READ_BYTES_DEFAULT
   */
  readonly bytesMax?: number;
};

/**
 * A reader that follows the end of a subject. It survives every outage of the log: each entry is
 * returned once, in position order.
 */
export interface Follow {
  /**
   * The next entries, oldest first: at least one, waiting until there is one; [] once closed. One
   * call at a time.
   * @throws TroupeError UNAVAILABLE: ask again after a while; INTERNAL (reason CORRUPT): never
   * again
   */
  next(): Promise<readonly LogEntry[]>;
  /**
   * Entries that are stored and not yet answered by `next`, as far as is known. A hint. undefined
   * until the end of the subject was read.
   */
  readonly pending: number | undefined;
  close(): void;
}

export const READ_LIMIT_DEFAULT = 1000;
export const READ_BYTES_DEFAULT = 8 * 2 ** 20;

export interface Log {
  /** true where `alongside` is honoured (embedded: one frame of the write-ahead log) */
  readonly atomic: boolean;
  /**
   * The bytes belong to the log until it answers. Any other error than AppendUnknown means that
   * nothing was stored: a TroupeError UNAVAILABLE (the disk is full, the log is closed) or
   * INVALID_ARGUMENT.
   * @throws AppendUnknown when it cannot be known whether the entry is stored
   */
  append(subject: string, bytes: Uint8Array, options?: AppendOptions): Promise<AppendAnswer>;
  /** Position of the last entry ever stored in the subject; 0 if none. Survives trims. */
  last(subject: string): Promise<Position>;
  /** The last entry itself; undefined if none was ever stored. */
  readLast(subject: string): Promise<LogEntry | undefined>;
  /**
   * Entries from position `from` (inclusive) on, oldest first; [] if there are none yet. Fewer
   * entries than `limit` with fewer bytes than `bytesMax` are all that the subject had at the call.
   */
  read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]>;
  /**
   * Reads the subject from position `from` (inclusive) on, as entries are stored. `onInterrupted`:
   * after each interruption, before `next` returns an entry that was read later. The log may have
   * been restored from an older disk meanwhile; the follow itself compares positions only. It is
   * never called during `follow`, and not at all by a log in this process.
   */
  follow(subject: string, from: Position, onInterrupted?: () => void): Follow;
  trim(subject: string, upTo: Position): Promise<void>;
  close(): Promise<void>;
}

/** The outcome of the append is unknown: determine it with `readLast` (rule C3). */
export class AppendUnknown extends Error {
  override readonly name = 'AppendUnknown';
  readonly subject: string;
  constructor(subject: string, options?: { cause?: unknown }) {
    super(`append to ${subject}: the outcome is unknown`, options);
    this.subject = subject;
  }
}
