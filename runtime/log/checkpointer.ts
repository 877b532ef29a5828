/**
 * Checkpointer: writes to LMDB later, in batches, what was stored elsewhere first. A row that
 * changed many times since the last batch is written once. One batch is one LMDB transaction, so
 * LMDB is consistent at every moment: it is the store as it was when the batch was taken.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { RowWrite } from './rows.ts';

/** Something whose changes wait in memory for the next checkpoint. */
export interface WriteBehindSource {
  /** Adds the writes of all changes up to now. One of the two calls below follows. */
  take(writes: RowWrite[]): void;
  /** What was taken is in LMDB, and its readers see it. */
  committed(): void;
  /** What was taken is not in LMDB, and is to be taken again. */
  failed(cause: TroupeError): void;
}

export type CheckpointerOptions = {
  readonly sources: readonly WriteBehindSource[];
  readonly clock: Pick<Clock, 'after'>;
  /**
   * Called in the step in which the batch was taken; may add writes of its own. All of them in one
   * transaction, or none; resolves when readers of LMDB see them.
   */
  readonly commit: (writes: RowWrite[]) => Promise<void>;
  /** once when batches begin to fail, and once when they succeed again */
  readonly onTrouble?: (what: string) => void;
  /** longest time that a change waits, milliseconds; default 250 */
  readonly everyMs?: number;
  /** changed bytes after which a batch is taken earlier; default 4 MiB */
  readonly bytes?: number;
  /** changed bytes that may wait; default 256 MiB */
  readonly bytesMax?: number;
};

const EVERY_MS = 250;
/** Fewer batches write fewer rows twice, and fewer entries that are trimmed soon. */
const BYTES = 4 * 2 ** 20;
const BYTES_MAX = 256 * 2 ** 20;
const RETRY_MS = 1_000;

export class Checkpointer {
  readonly #o: CheckpointerOptions;
  /** bytes of changes since the last batch, and of the batch that is being written */
  #waitingBytes = 0;
  #takenBytes = 0;
  #isDirty = false;
  #cancelTimer: (() => void) | undefined;
  #running: Promise<boolean> | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: CheckpointerOptions) {
    this.#o = options;
  }

  /** @throws TroupeError UNAVAILABLE when too many changes wait already */
  assertRoom(bytes: number): void {
    const { bytesMax = BYTES_MAX } = this.#o;
    const waiting = this.#waitingBytes + this.#takenBytes;
    if (waiting + bytes <= bytesMax) return;
    throw new TroupeError(
      'UNAVAILABLE',
      `the store is overloaded: ${waiting} bytes wait to be written (limit ${bytesMax}); ` +
        'nothing was stored, send again later',
      { details: { reason: 'OVERLOADED' } },
    );
  }

  /** A source changed by about so many bytes. */
  changed(bytes: number): void {
    this.#isDirty = true;
    this.#waitingBytes += bytes;
    if (this.#running || this.#isClosed) return;
    const { bytes: limit = BYTES, everyMs = EVERY_MS } = this.#o;
    if (this.#waitingBytes >= limit && !this.#isFailing) this.#schedule(0, true);
    else this.#schedule(everyMs, false);
  }

  /**
   * Writes all changes up to the call.
   * @returns false when LMDB did not take them
   */
  async now(): Promise<boolean> {
    while (this.#running) await this.#running;
    return this.#isDirty ? this.#run() : true;
  }

  /**
   * Runs work while no batch is written. Changes wait in memory meanwhile, and `close` for its end.
   * @throws TroupeError UNAVAILABLE when closed: the rows may belong to another process then
   */
  async alone(work: () => Promise<void>): Promise<void> {
    while (this.#running) await this.#running;
    if (this.#isClosed) throw new TroupeError('UNAVAILABLE', 'the store is closed');
    const working = work();
    const ended = () => {
      this.#running = undefined;
      if (this.#isDirty && !this.#isClosed) this.changed(0);
      return true;
    };
    this.#running = working.then(ended, ended);
    await working;
  }

  /** Writes all changes, then nothing more. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.now();
    this.#cancelTimer?.();
  }

  #schedule(delayMs: number, isSooner: boolean): void {
    if (this.#cancelTimer && !isSooner) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#o.clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      if (!this.#running && this.#isDirty && !this.#isClosed) void this.#run();
    });
  }

  #run(): Promise<boolean> {
    this.#running = this.#write().then((isWritten) => {
      this.#running = undefined;
      if (this.#isDirty && !this.#isClosed) {
        if (isWritten) this.changed(0);
        else this.#schedule(RETRY_MS, true);
      }
      return isWritten;
    });
    return this.#running;
  }

  async #write(): Promise<boolean> {
    const { sources, commit } = this.#o;
    const writes: RowWrite[] = [];
    for (const source of sources) source.take(writes);
    this.#isDirty = false;
    this.#takenBytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    try {
      await commit(writes);
    } catch (cause) {
      this.#isDirty = true;
      this.#waitingBytes += this.#takenBytes;
      this.#takenBytes = 0;
      const refusal = notWritten(cause);
      for (const source of sources) source.failed(refusal);
      if (!this.#isFailing) this.#o.onTrouble?.(`cannot be written: ${String(cause)}`);
      this.#isFailing = true;
      return false;
    }
    this.#takenBytes = 0;
    for (const source of sources) source.committed();
    if (this.#isFailing) this.#o.onTrouble?.('can be written again');
    this.#isFailing = false;
    return true;
  }
}

const notWritten = (cause: unknown): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the store could not write its data file (is the disk full?), and writes it again later: ${String(cause)}`,
    { details: { reason: 'STORE_WRITE_FAILED' }, cause },
  );
