/**
 * MailReader: one mailbox lane as a queue of single inputs in log order (B1). It reads ahead only a
 * little, so a long backlog stays in the log.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../clock/clock.ts';
import type { Follow, Log, LogEntry, Position } from '../../log/log.ts';
import { CorruptRecord } from '../commit/record-format.ts';
import { type MailEntry, type OutItem, decodeMail } from '../commit/records.ts';

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

/** Wait after a failed read. */
const RETRY_MS = 200;
const LOW_WATER = 64;

export class MailReader {
  readonly #clock: Clock;
  readonly #cell: string;
  readonly #lane: 'm' | 'c';
  readonly #onInputs: () => void;
  readonly #onCorrupt: (error: unknown) => void;
  readonly #follow: Follow;
  /** inputs before `#at` are taken, and no longer referenced */
  #queue: (MailInput | undefined)[] = [];
  #at = 0;
  #asking = false;
  #closed = false;

  constructor(options: {
    log: Log;
    clock: Clock;
    subject: string;
    cell: string;
    lane: 'm' | 'c';
    from: Position;
    onInputs: () => void;
    /** an entry cannot be read by this program, ever: nothing may be skipped */
    onCorrupt: (error: unknown) => void;
  }) {
    this.#clock = options.clock;
    this.#cell = options.cell;
    this.#lane = options.lane;
    this.#onInputs = options.onInputs;
    this.#onCorrupt = options.onCorrupt;
    this.#follow = options.log.follow(options.subject, options.from);
    this.#ask();
  }

  /** The next input, which stays in the queue until `take`. */
  peek(): MailInput | undefined {
    return this.#queue[this.#at];
  }

  take(): MailInput | undefined {
    const input = this.#queue[this.#at];
    if (input === undefined) return undefined;
    this.#queue[this.#at++] = undefined;
    if (this.#at === this.#queue.length || this.#at >= 1024) {
      this.#queue = this.#queue.slice(this.#at);
      this.#at = 0;
    }
    this.#ask();
    return input;
  }

  /** Entries that are stored and have no turn yet, as far as is known. */
  get waiting(): number {
    return this.#queue.length - this.#at + (this.#follow.pending ?? 0);
  }

  /** The end of the lane was read: nothing that was stored before is missing from `waiting`. */
  get isCounted(): boolean {
    return this.#follow.pending !== undefined;
  }

  close(): void {
    this.#closed = true;
    this.#follow.close();
  }

  #ask(): void {
    if (this.#asking || this.#closed || this.#queue.length - this.#at >= LOW_WATER) return;
    this.#asking = true;
    this.#follow.next().then(
      (entries) => this.#took(entries),
      (error: unknown) => this.#failed(error),
    );
  }

  #took(entries: readonly LogEntry[]): void {
    this.#asking = false;
    if (this.#closed) return;
    try {
      for (const entry of entries) this.#split(entry);
    } catch (error) {
      return this.#onCorrupt(error);
    }
    this.#onInputs();
    this.#ask();
  }

  #failed(error: unknown): void {
    if (!this.#closed && isCorrupt(error)) return this.#onCorrupt(error);
    this.#clock.after(RETRY_MS, () => {
      this.#asking = false;
      this.#ask();
    });
  }

  /** @throws TroupeError NEWER_FORMAT: the entry is accepted work that this program cannot read */
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
      entry = decodeMail(bytes, position);
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error;
      return void push(0, true, { kind: 'unreadable', why: error.message });
    }
    if (entry.cell !== this.#cell) {
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
