/**
 * One shard's import: its mail to the new mailboxes, its rows as a snapshot, and a journal that
 * begins with it: `SNAPSHOT { covers: 0, prev: 0 }`, so an ordinary load (A2) finds everything.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { decode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Lane } from '../../protocols/statechart.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Log, Position } from '../log/log.ts';
import { type Scalars, scalarsRow } from '../shard/commit/fold.ts';
import { encodeRecord } from '../shard/commit/records.ts';
import { RowsWriter, snapshotName, writeSnapshot } from '../shard/recovery/snapshot.ts';
import { Appender, patiently } from './appender.ts';
import type { MailFrame } from './frames.ts';
import { moveMail, moveRow, moveScalars } from './moved.ts';

export type ShardImportOptions = {
  readonly log: Log;
  readonly blobs: Blobs;
  readonly env: string;
  readonly cell: string;
  readonly shard: number;
  /** of the fold that is imported */
  readonly scalars: Uint8Array;
};

export class ShardImport {
  readonly #o: ShardImportOptions;
  readonly #scalars: Scalars;
  readonly #rows = new RowsWriter();
  readonly #lanes: Readonly<Record<Lane, LaneImport>>;

  constructor(options: ShardImportOptions) {
    this.#o = options;
    this.#scalars = decode<Scalars>(options.scalars);
    const tried = Object.keys(this.#scalars.tries);
    const lane = (name: Lane) =>
      new LaneImport(options.log, mailboxSubject(options.env, options.shard, name), tried);
    this.#lanes = { data: lane('data'), control: lane('control') };
  }

  async mail(lane: Lane, entries: readonly MailFrame[]): Promise<void> {
    for (const entry of entries) await this.#lanes[lane].append(entry);
  }

  async rows(page: readonly (string | Uint8Array)[]): Promise<void> {
    for (let i = 0; i < page.length; i += 3) {
      const [table, key, value] = page.slice(i, i + 3) as [string, string, Uint8Array];
      if (this.#rows.put(moveRow({ table, key, value }))) await letOthersRun();
    }
  }

  /** Called when all frames of the shard have been imported: makes the shard loadable. */
  async end(): Promise<void> {
    const { log, blobs, env, cell, shard } = this.#o;
    const { data, control } = this.#lanes;
    const scalars = moveScalars(this.#scalars, {
      mailFloor: await data.floor(),
      ctlFloor: await control.floor(),
      find: (lane, old) => this.#lanes[lane].find(old),
    });
    this.#rows.put(scalarsRow(scalars));
    const rows = this.#rows.end();
    const name = snapshotName(cell, shard, 0, 0);
    const snapshot = await patiently(() => writeSnapshot(blobs, name, rows, 0));
    const recId = `import-${randomBytes(12).toString('hex')}`;
    const head = { cell, recId, epoch: 0, prev: 0, now: scalars.now };
    const record = encodeRecord({ ...head, t: 'SNAPSHOT', ...snapshot });
    await new Appender(log, journalSubject(env, shard)).append(record);
  }
}

/** The entries of one mailbox lane, in their order. */
class LaneImport {
  readonly #log: Log;
  readonly #subject: string;
  readonly #appender: Appender;
  /** inputs whose positions will be needed, by their own position */
  readonly #tried: ReadonlySet<Position>;
  readonly #places = new Map<Position, Position>();
  #first: Position | undefined;

  constructor(log: Log, subject: string, tried: readonly string[]) {
    this.#log = log;
    this.#subject = subject;
    this.#appender = new Appender(log, subject);
    this.#tried = new Set(tried.map((input) => Number(/\d+/.exec(input)?.[0])));
  }

  async append([old, logTimeMs, bytes]: MailFrame): Promise<void> {
    const position = await this.#appender.append(moveMail(bytes, logTimeMs));
    this.#first ??= position;
    if (this.#tried.has(old)) this.#places.set(old, position);
  }

  find(old: Position): Position | undefined {
    return this.#places.get(old);
  }

  /** @throws TroupeError CONFLICT when another process has written to the mailbox */
  async floor(): Promise<Position> {
    if (this.#first !== undefined) return this.#first - 1;
    if ((await patiently(() => this.#log.last(this.#subject))) === 0) return 0;
    throw new TroupeError('CONFLICT', `${this.#subject} contains entries of another writer`, {
      details: { reason: 'NOT_EMPTY', subject: this.#subject },
    });
  }
}
