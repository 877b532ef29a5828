/**
 * Group commit: combines many small requests into few transactions. While one transaction runs, all
 * later requests wait and form the next one, so they share the cost of a commit (DeWitt et al.,
 * "Implementation techniques for main memory database systems", 1984).
 *
 * Invariants:
 *  - requests take effect in the order of `submit`; a request is built only after every earlier
 *    transaction is settled, so it decides on committed facts (P2) and on those of its own
 *    transaction;
 *  - one request's writes are in one transaction;
 *  - bounded (I8): QUEUED_BYTES_MAX waiting bytes, TRANSACTION_BYTES_MAX and TRANSACTION_WRITES_MAX
 *    per transaction (one request may exceed these two alone).
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { RowWrite, Rows } from './rows.ts';

export const QUEUED_BYTES_MAX = 256 * 2 ** 20;
export const TRANSACTION_BYTES_MAX = 16 * 2 ** 20;
export const TRANSACTION_WRITES_MAX = 20_000;
/** A commit that is not answered by then never will be: LMDB answers nothing more after a panic. */
export const COMMIT_DEADLINE_MS = 120_000;

/**
 * What is known about a transaction whose commit failed: nothing is stored; everything is, but
 * maybe not durably; or unknown.
 */
export type AppendOutcome = 'absent' | 'present' | 'unknown';

export interface CommitRequest {
  /** about how many bytes it will write */
  readonly bytes: number;
  /**
   * true: starts a transaction of its own, because it reads rows that requests before it may change
   */
  readonly alone?: boolean;
  /**
   * Appends its writes when it is its turn. Called once; when it throws nothing of it is stored.
   */
  build(writes: RowWrite[]): void;
  committed(): void;
  failed(cause: unknown, fate: AppendOutcome): void;
}

export type GroupCommitOptions = {
  /** called after the requests of a transaction received their results */
  readonly onSettled: () => void;
  /** durability `power`: a commit that is visible but not flushed counts for nothing */
  readonly mustFlush: boolean;
  /** default COMMIT_DEADLINE_MS */
  readonly commitDeadlineMs?: number;
};

export class GroupCommit {
  readonly #rows: Rows;
  readonly #waiting: CommitRequest[] = [];
  readonly #onSettled: () => void;
  readonly #mustFlush: boolean;
  readonly #commitDeadlineMs: number;
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
  #scheduled = false;
  #closed = false;
  #broken: { readonly cause: unknown } | undefined;

  constructor(rows: Rows, options: GroupCommitOptions) {
    this.#rows = rows;
    this.#onSettled = options.onSettled;
    this.#mustFlush = options.mustFlush;
    this.#commitDeadlineMs = options.commitDeadlineMs ?? COMMIT_DEADLINE_MS;
  }

  /** Whether memory and disk may differ. It stays so until the process is started again. */
  get broken(): boolean {
    return this.#broken !== undefined;
  }

  /** @throws TroupeError UNAVAILABLE, details.reason STORE_BROKEN */
  assertSound(): void {
    if (this.#broken === undefined) return;
    throw new TroupeError(
      'UNAVAILABLE',
      `the store failed in a way it cannot go on from (${String(this.#broken.cause)}): check the disk ` +
        'and start again; what was answered is safe',
      { details: { reason: 'STORE_BROKEN' }, cause: this.#broken.cause },
    );
  }

  /** @throws TroupeError UNAVAILABLE when closed, broken or overloaded; nothing is stored then */
  submit(request: CommitRequest): void {
    this.assertSound();
    if (this.#closed)
      throw new TroupeError('UNAVAILABLE', 'the store is closed; nothing was stored');
    if (this.#waitingBytes + request.bytes > QUEUED_BYTES_MAX) {
      throw new TroupeError(
        'UNAVAILABLE',
        `the store is overloaded: ${this.#waitingBytes} bytes wait to be written ` +
          `(limit ${QUEUED_BYTES_MAX}); nothing was stored, send again later`,
        { details: { reason: 'OVERLOADED' } },
      );
    }
    this.#waiting.push(request);
    this.#waitingBytes += request.bytes;
    this.#schedule();
  }

  /** Waits for what was submitted; later submits are refused. May be repeated. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running !== undefined || this.#waiting.length > 0) {
      if (this.#running === undefined) this.#run();
      await this.#running;
    }
  }

  /** At the end of the event loop's turn, so that all who ask in one turn share a transaction. */
  #schedule(): void {
    if (this.#scheduled || this.#running !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#running === undefined && this.#waiting.length > 0) this.#run();
    });
  }

  #run(): void {
    this.#running = this.#commitNext().then(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  async #commitNext(): Promise<void> {
    const [group, writes] = this.#takeGroup();
    try {
      if (writes.length > 0) await this.#commitInTime(writes);
    } catch (cause) {
      this.#fail(group, cause, this.#fateOf(writes));
      return;
    }
    for (const request of group) request.committed();
    this.#onSettled();
  }

  async #commitInTime(writes: readonly RowWrite[]): Promise<void> {
    const limitMs = this.#commitDeadlineMs;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#broken = { cause: `no answer to a commit within ${limitMs} ms` };
        reject(new Error(`the commit was not answered within ${limitMs} ms`));
      }, limitMs);
    });
    try {
      await Promise.race([this.#rows.commit(writes), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * A flush that failed is never tried again by the kernel, so where it was promised nothing can go
   * on.
   */
  #fail(group: readonly CommitRequest[], cause: unknown, fate: AppendOutcome): void {
    if (fate === 'unknown' || (fate === 'present' && this.#mustFlush)) this.#broken ??= { cause };
    for (const request of group) request.failed(cause, fate);
    if (this.broken) {
      for (const request of this.#waiting.splice(0)) request.failed(cause, 'absent');
      this.#waitingBytes = 0;
    }
    this.#onSettled();
  }

  #takeGroup(): [CommitRequest[], RowWrite[]] {
    const group: CommitRequest[] = [];
    const writes: RowWrite[] = [];
    let bytes = 0;
    let taken = 0;
    for (const request of this.#waiting) {
      const full =
        bytes + request.bytes > TRANSACTION_BYTES_MAX || writes.length > TRANSACTION_WRITES_MAX;
      if (taken > 0 && (full || request.alone === true)) break;
      taken += 1;
      bytes += request.bytes;
      if (this.#build(request, writes)) group.push(request);
      if (request.alone === true) break;
    }
    this.#waiting.splice(0, taken);
    this.#waitingBytes -= bytes;
    return [group, writes];
  }

  #build(request: CommitRequest, writes: RowWrite[]): boolean {
    const before = writes.length;
    try {
      request.build(writes);
      return true;
    } catch (cause) {
      writes.length = before;
      request.failed(cause, 'absent');
      return false;
    }
  }

  /** Log keys are never reused: the last one shows whether the complete transaction is stored. */
  #fateOf(writes: readonly RowWrite[]): AppendOutcome {
    if (this.broken) return 'unknown';
    const probe = writes.findLast((write) => write.table === 'log' && write.value !== null);
    if (probe === undefined) return 'absent';
    try {
      return this.#rows.get('log', probe.key) === undefined ? 'absent' : 'present';
    } catch {
      return 'unknown';
    }
  }
}
