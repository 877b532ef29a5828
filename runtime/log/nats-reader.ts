/**
 * NatsReader: all entries of one subject from a position on, in order, whatever happens to the
 * server, the connection or the consumer. The client library's ordered consumer is not used: it can
 * stall after a reconnect, when entries were sent into the dying connection and none followed.
 *
 * It keeps the last position that it has. At any doubt the consumer is dropped and another one is
 * created behind that position (`nats-consumer.ts` detects doubts). So order and completeness
 * depend on the stream's own numbers, not on a consumer's memory.
 *
 * Invariants: positions in the buffer rise and continue the returned ones; the buffer is bounded
 * (I8). A stream that ends before the last read position was emptied or recreated: that is reported
 * (reason CORRUPT), never skipped.
 */
import {
  AckPolicy,
  DeliverPolicy,
  type JetStreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import { TroupeError } from '../../protocols/errors.ts';
import type { Position } from './log.ts';
import { INACTIVE_MS, type Delivered, NatsConsumer } from './nats-consumer.ts';
import { type StoredEntry, storedEntry } from './nats-entry.ts';
import type { NatsLink } from './nats-link.ts';

export type NatsReaderOptions = {
  readonly link: NatsLink;
  readonly manager: JetStreamManager;
  /** the stream as it is at the call, or later */
  readonly look: () => Promise<StreamInfo>;
  readonly stream: string;
  readonly subject: string;
  /** the first position wanted; 1 or above */
  readonly from: Position;
  /**
   * a short read of at most this number of entries, which ends with the connection; default
   * unlimited
   */
  readonly entriesMax?: number;
  /** before entries of another consumer than the first one come (`Log.follow`) */
  readonly onInterrupted?: () => void;
};

/** Entries and bytes that wait to be taken, at most; a single larger message excepted. */
const BUFFER_ENTRIES_MAX = 2_000;
const BUFFER_BYTES_MAX = 8 * 2 ** 20;
const PULL_ENTRIES_MAX = 500;
const PULL_BYTES_MAX = 4 * 2 ** 20;
/** What the server counts in addition to headers and payload: subjects. */
const PULL_OVERHEAD_BYTES = 64 * 2 ** 10;

const BACKOFF_MS = { first: 50, max: 1_000 };
/** A consumer that lived this long was healthy: the backoff restarts. */
const WELL_AFTER_MS = 1_000;
/**
 * A deposed leader may answer with old data: it is asked this number of times before it is
 * believed.
 */
const RESET_CHECKS = 4;
const RESET_CHECK_MS = 500;

export class NatsReader {
  readonly #o: NatsReaderOptions;
  readonly #pullBytes: number;
  #entries: StoredEntry[] = [];
  #bytes = 0;
  /** position of the last entry that came, or of the one before `from` */
  #last: Position;
  /** entries that may still be requested */
  #wanted: number;
  /** entries stored behind the last one, as its delivery said, or the server at first */
  #behind: number | undefined;
  /** when the stream was made, as the first look said */
  #made: string | undefined;
  #consumer: NatsConsumer | undefined;
  #isFirst = true;
  #failure: TroupeError | undefined;
  #closed = false;
  #wakeTaker: (() => void) | undefined;
  #wakeRetry: (() => void) | undefined;

  constructor(options: NatsReaderOptions) {
    this.#o = options;
    this.#last = Math.max(options.from, 1) - 1;
    this.#wanted = options.entriesMax ?? Number.MAX_SAFE_INTEGER;
    const payloadMax = options.link.nc.info?.max_payload ?? 0;
    this.#pullBytes = Math.max(PULL_BYTES_MAX, payloadMax + PULL_OVERHEAD_BYTES);
    void this.#run();
  }

  /** Entries that are stored and not taken, as far as is known; undefined at first. */
  get pending(): number | undefined {
    return this.#behind === undefined ? undefined : this.#entries.length + this.#behind;
  }

  /** Resolves when there is something to take, or the reader is closed. */
  async some(): Promise<void> {
    while (this.#entries.length === 0 && !this.#closed) {
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve;
      });
    }
  }

  /** The oldest entries, which stay until they are dropped: at least one, if there is any. */
  peek(bytesMax: number): readonly StoredEntry[] {
    let count = 0;
    for (let bytes = 0; count < this.#entries.length && (count === 0 || bytes < bytesMax); count++)
      bytes += this.#entries[count]!.size;
    return this.#entries.slice(0, count);
  }

  /** Removes the oldest entries. */
  drop(count: number): void {
    for (const { bytes } of this.#entries.splice(0, count)) this.#bytes -= bytes.length;
    this.#pull();
  }

  close(): void {
    this.#closed = true;
    this.#entries = [];
    this.#consumer?.end();
    this.#wakeTaker?.();
    this.#wakeRetry?.();
  }

  async #run(): Promise<void> {
    let backoffMs = BACKOFF_MS.first;
    while (!this.#closed && !this.#failure) {
      const beganAtMs = performance.now();
      try {
        await this.#readUntilAnomaly();
      } catch (error) {
        if (error instanceof TroupeError) return this.#fail(error);
      }
      if (performance.now() - beganAtMs > WELL_AFTER_MS) backoffMs = BACKOFF_MS.first;
      await this.#pause(backoffMs);
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max);
    }
  }

  async #readUntilAnomaly(): Promise<void> {
    const { link, manager, stream, subject } = this.#o;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    await this.#checkStream();
    const { name, num_pending } = await link.ask(
      manager.consumers.add(stream, {
        filter_subject: subject,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: this.#last + 1,
        ack_policy: AckPolicy.None,
        max_deliver: 1,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: INACTIVE_MS * 1_000_000,
      }),
    );
    this.#behind = num_pending;
    if (!isFirst) this.#o.onInterrupted?.();
    await new Promise<void>((resolve) => {
      this.#consumer = new NatsConsumer({
        link,
        stream,
        consumer: name,
        onEntry: (entry) => this.#took(entry),
        onIdle: () => this.#pull(),
        onAnomaly: () => resolve(),
      });
      this.#wakeRetry = resolve;
      if (this.#closed) resolve();
      else this.#pull();
    });
    this.#consumer?.end();
    this.#consumer = undefined;
    if (link.up) manager.consumers.delete(stream, name).catch(() => {});
  }

  /** @throws TroupeError INTERNAL, reason CORRUPT: the stream no longer holds what was read */
  async #checkStream(): Promise<void> {
    const { link, look, entriesMax } = this.#o;
    if (entriesMax !== undefined) return;
    for (let checks = 1; ; checks++) {
      const { state, created } = await link.ask(look());
      this.#made ??= created;
      if (state.last_seq >= this.#last && created === this.#made) return;
      if (checks === RESET_CHECKS || this.#closed) throw this.#reset(state.last_seq);
      await this.#pause(RESET_CHECK_MS);
    }
  }

  #reset(end: Position): TroupeError {
    return new TroupeError(
      'INTERNAL',
      `the stream ${this.#o.stream} was reset: it ends at ${end}, made ${this.#made}, but ` +
        `${this.#o.subject} was read up to ${this.#last}. Restore it from a backup, or begin a new cell.`,
      { details: { reason: 'CORRUPT', stream: this.#o.stream, last: end, wanted: this.#last } },
    );
  }

  #took({ position, logTimeMs, pending, message }: Delivered): void {
    if (position <= this.#last) return;
    const entry = storedEntry(position, logTimeMs, message.data, () => message.headers);
    this.#last = position;
    this.#behind = pending;
    this.#wanted -= 1;
    this.#entries.push(entry);
    this.#bytes += entry.bytes.length;
    this.#wakeTaker?.();
  }

  #pull(): void {
    const consumer = this.#consumer;
    if (!consumer || consumer.pulling || this.#wanted === 0) return;
    if (this.#entries.length + PULL_ENTRIES_MAX > BUFFER_ENTRIES_MAX) return;
    if (this.#bytes > 0 && this.#bytes + this.#pullBytes > BUFFER_BYTES_MAX) return;
    consumer.pull(Math.min(PULL_ENTRIES_MAX, this.#wanted), this.#pullBytes);
  }

  #fail(error: TroupeError): void {
    this.#failure = error;
    this.#wakeTaker?.();
  }

  /** Until so much time has passed; while the connection is down, until it is back. */
  #pause(delayMs: number): Promise<void> {
    const { link } = this.#o;
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = link.up ? setTimeout(() => this.#wakeRetry?.(), delayMs) : undefined;
      timer?.unref();
      const unwatch = link.watch((up) => up && this.#wakeRetry?.());
      this.#wakeRetry = () => {
        clearTimeout(timer);
        unwatch();
        resolve();
      };
    });
  }
}
