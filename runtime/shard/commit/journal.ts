/**
 * Journal: the only appender of a shard's journal while the shard is owned (rules C and A4). At
 * most one append is unanswered. The result of a lost answer is read from the log, never guessed.
 */
import { errorData } from '../../../protocols/errors.ts';
import {
  AppendUnknown,
  type AtomicAppends,
  type Log,
  type LogEntry,
  type Position,
} from '../../log/log.ts';
import type { Clock } from '../../clock/clock.ts';
import { formatNeeded } from './record-format.ts';
import { decodeRecord } from './records.ts';

export type Committed =
  | { readonly kind: 'committed'; readonly position: Position }
  | { readonly kind: 'lost'; readonly why: string };

/** Short, because the shard makes no progress after an outage until the next attempt. */
const BACKOFF_MS = { first: 50, max: 500 };

export class Journal {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #subject: string;
  readonly #onLogTime: (logTimeMs: number, atMs: number) => void;
  readonly #onTrouble: (what: string) => void;
  /** why the log has not accepted the current record after more than one attempt */
  trouble: string | undefined;
  /** position of the last record that this owner knows to count */
  last: Position;
  /** the last record whose append was answered, and when */
  #stored: { readonly position: Position; readonly atMs: number } | undefined;
  #closed = false;

  constructor(options: {
    log: Log;
    clock: Clock;
    subject: string;
    last: Position;
    /** the log's time of a record that was answered at `atMs` of the monotonic clock */
    onLogTime: (logTimeMs: number, atMs: number) => void;
    /** called once when the log refuses records, and once when it accepts them again */
    onTrouble: (what: string) => void;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#subject = options.subject;
    this.#onLogTime = options.onLogTime;
    this.#onTrouble = options.onTrouble;
    this.last = options.last;
  }

  close(): void {
    this.#closed = true;
  }

  /** Appends a record built on `last`; resolves when its outcome is known (C3). */
  async append(recId: string, bytes: Uint8Array, alongside?: AtomicAppends): Promise<Committed> {
    for (
      let backoffMs = BACKOFF_MS.first;
      !this.#closed;
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max)
    ) {
      try {
        const answer = await this.#log.append(this.#subject, bytes, {
          expectedLast: this.last,
          ...(alongside ? { alongside } : {}),
        });
        if (answer.kind === 'stored') {
          const atMs = this.#clock.monotonicMs();
          this.#stored = { position: answer.position, atMs };
          if (answer.logTimeMs !== undefined) this.#onLogTime(answer.logTimeMs, atMs);
          return this.#committed(answer.position);
        }
      } catch (error) {
        if (!(error instanceof AppendUnknown) && !isUnavailable(error)) throw error;
        if (backoffMs > BACKOFF_MS.first) this.#suffer(error);
      }
      const found = await this.#find(recId);
      if (found.kind !== 'absent') return found;
      await new Promise<void>((resolve) => this.#clock.after(backoffMs, resolve));
    }
    return { kind: 'lost', why: 'closed' };
  }

  /**
   * Reads the log's clock at this owner's last record (H1). Waits for the log. Does nothing if
   * another record follows.
   */
  async measureTime(): Promise<void> {
    for (
      let backoffMs = BACKOFF_MS.first;
      !this.#closed;
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max)
    ) {
      try {
        const last = await this.#log.readLast(this.#subject);
        return last && this.learnTime(last);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await new Promise<void>((resolve) => this.#clock.after(backoffMs, resolve));
    }
  }

  /** Time of this owner's last record, if the answer of the log did not contain it (H1). */
  learnTime({ position, logTimeMs }: LogEntry): void {
    if (position !== this.last) return;
    // One whose answer was lost was stored at some time before now.
    const atMs = position === this.#stored?.position ? this.#stored.atMs : undefined;
    this.#onLogTime(logTimeMs, atMs ?? this.#clock.monotonicMs());
  }

  #suffer(error: unknown): void {
    if (this.trouble !== undefined) return;
    const cause = error instanceof AppendUnknown ? (error.cause ?? error) : error;
    this.trouble = errorData(cause).message;
    this.#onTrouble(`accepts no records: ${this.trouble}`);
  }

  #committed(position: Position): Committed {
    this.last = position;
    if (this.trouble !== undefined) this.#onTrouble('accepts records again');
    this.trouble = undefined;
    return { kind: 'committed', position };
  }

  /**
   * `absent`: the last record is still the previous one, so the identical bytes may be sent again.
   */
  async #find(recId: string): Promise<Committed | { kind: 'absent' }> {
    let entry: Awaited<ReturnType<Log['readLast']>>;
    try {
      entry = await this.#log.readLast(this.#subject);
    } catch {
      return { kind: 'absent' };
    }
    if (!entry || entry.position === this.last) return { kind: 'absent' };
    if (isRecord(entry, recId)) return this.#committed(entry.position);
    return { kind: 'lost', why: `another owner wrote record ${entry.position}` };
  }
}

/** @throws CorruptRecord */
function isRecord({ bytes, position }: LogEntry, recId: string): boolean {
  try {
    return decodeRecord(bytes, position).recId === recId;
  } catch (error) {
    // What only a newer program can read is not of this process.
    if (formatNeeded(error) === undefined) throw error;
    return false;
  }
}

const isUnavailable = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'UNAVAILABLE';
