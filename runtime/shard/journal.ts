/**
 * Journal: the one appender of a shard's journal while it is owned (rules C and A4). One append is
 * unanswered at most; an answer that did not come is found out by reading the last record, never
 * guessed.
 */
import { AppendUnknown, type Alongside, type Log, type Position } from '../log/log.ts';
import type { Clock } from '../clock/clock.ts';
import { decodeRecord } from './records.ts';

export type Committed =
  | { readonly kind: 'committed'; readonly position: Position }
  | { readonly kind: 'lost'; readonly why: string };

const BACKOFF_MS = { first: 50, max: 5_000 };

export class Journal {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #subject: string;
  readonly #onLogTime: (logTimeMs: number) => void;
  /** position of the last record this owner knows to count */
  last: Position;
  #closed = false;

  constructor(options: {
    log: Log;
    clock: Clock;
    subject: string;
    last: Position;
    onLogTime: (logTimeMs: number) => void;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#subject = options.subject;
    this.#onLogTime = options.onLogTime;
    this.last = options.last;
  }

  close(): void {
    this.#closed = true;
  }

  /** Appends a record built on `last`; resolves when its fate is known (C3). */
  async append(recId: string, bytes: Uint8Array, alongside?: Alongside): Promise<Committed> {
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
          this.#onLogTime(answer.logTimeMs);
          return this.#committed(answer.position);
        }
      } catch (error) {
        if (!(error instanceof AppendUnknown) && !isUnavailable(error)) throw error;
      }
      const found = await this.#find(recId);
      if (found.kind !== 'absent') return found;
      await new Promise<void>((resolve) => this.#clock.after(backoffMs, resolve));
    }
    return { kind: 'lost', why: 'closed' };
  }

  #committed(position: Position): Committed {
    this.last = position;
    return { kind: 'committed', position };
  }

  /**
   * `absent`: the last record is still the one before ours, so the identical bytes may be sent
   * again.
   */
  async #find(recId: string): Promise<Committed | { kind: 'absent' }> {
    let entry: Awaited<ReturnType<Log['readLast']>>;
    try {
      entry = await this.#log.readLast(this.#subject);
    } catch {
      return { kind: 'absent' };
    }
    if (!entry || entry.position === this.last) return { kind: 'absent' };
    if (decodeRecord(entry.bytes).recId === recId) return this.#committed(entry.position);
    return { kind: 'lost', why: `another owner wrote record ${entry.position}` };
  }
}

const isUnavailable = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'UNAVAILABLE';
