/**
 * MailReader: one mailbox lane as a queue of single inputs in log order (B1). Pulls from the log
 * when told that something was appended and when the queue runs low, so that a long backlog stays
 * in the log.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log, LogEntry, Position } from '../log/log.ts';
import { CorruptRecord, type MailEntry, type OutItem, decodeMail } from './records.ts';

type Links = Extract<MailEntry, { kind: 'links' }>;
export type MailBody =
  | { readonly kind: 'item'; readonly entry: Links; readonly n: number; readonly item: OutItem }
  | { readonly kind: 'client'; readonly entry: Extract<MailEntry, { kind: 'client' }> }
  | { readonly kind: 'outcome'; readonly entry: Extract<MailEntry, { kind: 'outcome' }> }
  | { readonly kind: 'unreadable'; readonly why: string };

export type MailInput = {
  /** `m12.3`, `c12.3`: lane, position, item of the entry */
  readonly ref: string;
  readonly position: Position;
  /** the floor may move to `position` once this one has its turn */
  readonly last: boolean;
  readonly logTimeMs: number;
  readonly body: MailBody;
};

/** A read that failed is tried again after so long. */
const RETRY_MS = 200;
const READ_ENTRIES = 256;
const LOW_WATER = 64;

export class MailReader {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #subject: string;
  readonly #cell: string;
  readonly #lane: 'm' | 'c';
  readonly #onInputs: () => void;
  readonly #onCorrupt: (error: unknown) => void;
  #next: Position;
  #queue: MailInput[] = [];
  #at = 0;
  #reading = false;
  #again = false;
  #closed = false;
  readonly #unwatch: () => void;
  /** entries of another cell, dropped (E5) */
  foreign = 0;

  constructor(options: {
    log: Log;
    clock: Clock;
    subject: string;
    cell: string;
    lane: 'm' | 'c';
    from: Position;
    onInputs: () => void;
    /** an entry cannot be read for good: nothing may be skipped */
    onCorrupt: (error: unknown) => void;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#subject = options.subject;
    this.#cell = options.cell;
    this.#lane = options.lane;
    this.#next = options.from;
    this.#onInputs = options.onInputs;
    this.#onCorrupt = options.onCorrupt;
    this.#unwatch = this.#log.watch(this.#subject, () => this.#pull());
    this.#pull();
  }

  /** The next input, which stays in the queue until `take`. */
  peek(): MailInput | undefined {
    return this.#queue[this.#at];
  }

  take(): MailInput | undefined {
    const input = this.#queue[this.#at];
    if (input === undefined) return undefined;
    this.#at++;
    if (this.#at >= 1024) {
      this.#queue = this.#queue.slice(this.#at);
      this.#at = 0;
    }
    if (this.#again && this.#queue.length - this.#at < LOW_WATER) this.#pull();
    return input;
  }

  /** Inputs that are read and not yet taken. */
  get waiting(): number {
    return this.#queue.length - this.#at;
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
  }

  #pull(): void {
    this.#again = true;
    if (this.#reading || this.#closed || this.#queue.length - this.#at >= LOW_WATER) return;
    this.#reading = true;
    this.#again = false;
    this.#log.read(this.#subject, this.#next, { limit: READ_ENTRIES }).then(
      (entries) => this.#took(entries),
      (error: unknown) => this.#failed(error),
    );
  }

  #took(entries: readonly LogEntry[]): void {
    this.#reading = false;
    if (this.#closed) return;
    for (const entry of entries) this.#split(entry);
    const last = entries.at(-1);
    if (last) {
      this.#next = last.position + 1;
      this.#again = true;
      this.#onInputs();
    }
    if (this.#again) this.#pull();
  }

  #failed(error: unknown): void {
    this.#reading = false;
    this.#again = true;
    if (!this.#closed && isCorrupt(error)) return this.#onCorrupt(error);
    this.#clock.after(RETRY_MS, () => this.#pull());
  }

  /** Tries again what failed or waited. */
  retry(): void {
    this.#pull();
  }

  #split({ position, bytes, logTimeMs }: LogEntry): void {
    const push = (index: number, last: boolean, body: MailBody) =>
      this.#queue.push({
        ref: `${this.#lane}${position}.${index}`,
        position,
        last,
        logTimeMs,
        body,
      });
    let entry: MailEntry;
    try {
      entry = decodeMail(bytes);
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      return void push(0, true, { kind: 'unreadable', why: error.message });
    }
    if (entry.cell !== this.#cell) {
      this.foreign++;
      return void push(0, true, {
        kind: 'unreadable',
        why: `written by another installation (cell ${entry.cell})`,
      });
    }
    if (entry.kind !== 'links') return void push(0, true, { kind: entry.kind, entry } as MailBody);
    const { items } = entry;
    items.forEach((item, i) =>
      push(i, i === items.length - 1, { kind: 'item', entry, n: entry.n + i, item }),
    );
  }
}

const isCorrupt = (error: unknown): boolean =>
  error instanceof TroupeError && error.details?.['reason'] === 'CORRUPT';
