/**
 * ShardCopy: one shard of a running cluster at a position of its journal, and the mail above it. It
 * only reads: the owner of the shard does not notice it.
 *
 * The running shard trims its logs meanwhile. A hole in the journal shows in its chain (C4). Mail
 * has gaps anyway, so it is checked in another way: a trim removes a subject from its beginning, so
 * while the newest entry that was read is stored, nothing behind it is gone.
 */
import { decode, encode } from '../../../protocols/codec.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Lane } from '../../../protocols/statechart.ts';
import { journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Log, LogEntry, Position } from '../../log/log.ts';
import type { Fold, Scalars } from '../../shard/commit/fold.ts';
import { decodeRecord } from '../../shard/commit/records.ts';
import { catchUp, loadRows } from '../../shard/recovery/load.ts';
import { sortable } from '../../shard/turn/actor-row.ts';
import type { State } from '../../state/state.ts';
import type { MailFrame } from '../../transfer/frames.ts';

export type ShardCopyOptions = {
  readonly log: Log;
  readonly blobs: Blobs;
  readonly env: string;
  readonly cell: string;
  readonly shard: number;
  /** receives the rows of the shard; empty */
  readonly rows: State;
  /** receives its mail; empty */
  readonly mail: State;
};

const ATTEMPTS_MAX = 20;
const CORRUPT_MAX = 3;
const RECORDS = 64;
const PAGE_BYTES = 256 * 1024;
const PAGE_ENTRIES = 500;
export const LANES: readonly Lane[] = ['data', 'control'];

export class ShardCopy {
  readonly shard: number;
  readonly #o: ShardCopyOptions;
  readonly #journal: string;
  #fold: Fold | undefined;
  #last: Position = 0;
  /** position of the newest mail that was read, by lane; 0: there was none */
  readonly #read: Record<Lane, Position> = { data: 0, control: 0 };

  constructor(options: ShardCopyOptions) {
    this.#o = options;
    this.shard = options.shard;
    this.#journal = journalSubject(options.env, options.shard);
  }

  /** Of the fold at the position of the copy. */
  get scalars(): Scalars {
    return this.#fold!.scalars;
  }

  /** Copies the shard as it is now. May be repeated. @throws TroupeError as `loadRows` */
  async load(): Promise<void> {
    const { log, blobs, cell, shard, rows } = this.#o;
    const journal = this.#journal;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const loading = loadRows({ log, blobs, cell, shard, journal, state: rows });
      const loaded = await loading.catch((error: unknown) => {
        // A snapshot that its owner has just deleted, with the journal before it.
        if (!isCorrupt(error) || attempt >= CORRUPT_MAX) throw error;
      });
      if (!loaded) continue;
      this.#fold = loaded.fold;
      this.#last = loaded.last;
      await this.#o.mail.clear(shard);
      for (const lane of LANES) await this.#firstMail(lane);
      if (!(await this.#mayHaveTrimmed())) return;
    }
    throw trimmedTooFast(shard);
  }

  /** Position of the last entry of its journal by now. */
  journalEnd(): Promise<Position> {
    return this.#o.log.last(this.#journal);
  }

  /** Position of the last entry of its mail by now. */
  async mailEnd(): Promise<Position> {
    const { log, env } = this.#o;
    const ends = LANES.map((lane) => log.last(mailboxSubject(env, this.shard, lane)));
    return Math.max(...(await Promise.all(ends)));
  }

  /** Folds all further records up to a position. False: some were trimmed, so `load` again. */
  async advanceTo(end: Position): Promise<boolean> {
    const { log, rows, cell } = this.#o;
    while (this.#last < end) {
      const entries = await log.read(this.#journal, this.#last + 1, { limit: RECORDS });
      const before = this.#last;
      for (const { position, bytes } of entries) {
        const record = decodeRecord(bytes, position);
        if (record.prev > this.#last || record.cell !== cell) return false;
        if (position > end) break;
        if (record.prev === this.#last) this.#fold!.replay(record, bytes.length);
        this.#last = position;
      }
      if (this.#last === before) return true;
      await catchUp({ fold: this.#fold! }, rows);
    }
    return true;
  }

  /** Copies the mail that is stored by now. False: some of it was trimmed, so `load` again. */
  async readMail(): Promise<boolean> {
    for (const lane of LANES) {
      const before = this.#read[lane];
      await this.#mailFrom(lane, before + 1);
      if (before === this.#read[lane]) continue;
      const subject = mailboxSubject(this.#o.env, this.shard, lane);
      const [kept] = before === 0 ? [] : await this.#o.log.read(subject, before, { limit: 1 });
      if (kept?.position !== before) return false;
    }
    return true;
  }

  /** Mail above the floor of the fold, in order, page by page. */
  *mail(lane: Lane): Iterable<readonly MailFrame[]> {
    const { mailFloor, ctlFloor } = this.scalars;
    let from = sortable((lane === 'data' ? mailFloor : ctlFloor) + 1);
    for (;;) {
      const rows = this.#o.mail.range(this.shard, lane, { from, limit: PAGE_ENTRIES });
      if (rows.length > 0) yield rows.map(({ value }) => decode<MailFrame>(value));
      if (rows.length < PAGE_ENTRIES) return;
      from = `${rows.at(-1)!.key}\0`;
    }
  }

  async #firstMail(lane: Lane): Promise<void> {
    const { mailFloor, ctlFloor } = this.scalars;
    const subject = mailboxSubject(this.#o.env, this.shard, lane);
    this.#read[lane] = await this.#o.log.last(subject);
    await this.#mailFrom(lane, (lane === 'data' ? mailFloor : ctlFloor) + 1);
  }

  async #mailFrom(lane: Lane, from: Position): Promise<void> {
    const { log, mail, env } = this.#o;
    const subject = mailboxSubject(env, this.shard, lane);
    for (let next = from; ; ) {
      const page = await log.read(subject, next, { bytesMax: PAGE_BYTES });
      const last = page.at(-1);
      if (!last) return;
      await mail.write(page.map((entry) => this.#mailRow(lane, entry)));
      this.#read[lane] = Math.max(this.#read[lane], last.position);
      next = last.position + 1;
    }
  }

  #mailRow(lane: Lane, { position, logTimeMs, bytes }: LogEntry) {
    const value = encode([position, logTimeMs, bytes] satisfies MailFrame);
    return { shard: this.shard, table: lane, key: sortable(position), value };
  }

  /** A trim follows the record of a snapshot. */
  async #mayHaveTrimmed(): Promise<boolean> {
    let before = this.#last;
    for (;;) {
      const entries = await this.#o.log.read(this.#journal, before + 1);
      if (entries.length === 0) return false;
      for (const { position, bytes } of entries) {
        const record = decodeRecord(bytes, position);
        if (record.prev > before || record.t === 'SNAPSHOT') return true;
        before = position;
      }
    }
  }
}

const isCorrupt = (error: unknown): boolean =>
  error instanceof TroupeError && error.details?.['reason'] === 'CORRUPT';

export const trimmedTooFast = (shard: number): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `shard ${shard} trims its logs faster than this process can read them: create the backup ` +
      'nearer to the NATS servers, or when there is less load',
  );
