/**
 * Retention: trims what a shard no longer needs, never before it is covered (rule T). Where the log
 * is atomic, the state rows cover every committed record; elsewhere snapshots do, one generation
 * behind.
 *
 * A snapshot is due after a number of records or bytes, but not before the journal since the last
 * snapshot is half as large as that snapshot. So snapshots write at most twice the bytes of the
 * journal, however large the shard is.
 */
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Clock } from '../../clock/clock.ts';
import type { CommittedTurns } from '../../history/batch.ts';
import type { HistoryRules } from '../../history/policy.ts';
import { ShardHistory } from '../../history/shard-history.ts';
import type { Log, Position } from '../../log/log.ts';
import type { State } from '../../state/state.ts';
import type { TurnWorld } from '../turn/turn-context.ts';
import type { Fold, SnapshotMark } from '../commit/fold.ts';
import {
  collectRows,
  coversOf,
  isSuperseded,
  type SnapshotBlob,
  snapshotName,
  snapshotPrefix,
  writeSnapshot,
} from './snapshot.ts';

export type RetentionOptions = {
  readonly world: TurnWorld;
  readonly env: string;
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly fold: Fold;
  readonly epoch: Position;
  /** records kept behind the state where the log is atomic; default 1,000 */
  readonly journalTail?: number;
  /** records of the shard's journal after which a snapshot is due, elsewhere; default 2,000 */
  readonly snapshotEvery?: number;
  /** bytes of it after which one is due, if that comes first; default 16 MiB */
  readonly snapshotBytes?: number;
  /** absent: nothing is kept of turns */
  readonly history?: HistoryRules;
  readonly alarm: (what: string) => void;
  /** a snapshot's blob is whole: its record may be written */
  readonly onSnapshot: (blob: SnapshotBlob) => void;
};

const TRIM_EVERY = 256;
const SNAPSHOT_EVERY = 2_000;
const SNAPSHOT_BYTES = 16 * 2 ** 20;
/** Each is in memory until it is written, so a process makes few at once; the others are late. */
const SNAPSHOTS_AT_ONCE = 2;
/** After a failure the next is tried when so much of what makes one due has come again. */
const RETRY_SHARE = 1 / 8;

type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };

/** How many snapshots are on their way to a blob store. */
const underWay = new WeakMap<Blobs, number>();

export class Retention {
  readonly #o: RetentionOptions;
  #mail: Position = 0;
  #journal: Position = 0;
  /** the snapshot whose record counts */
  #snapshot: SnapshotMark | undefined;
  #writing = false;
  #closed = false;
  /** resolve when everything below the next record is trimmed */
  #trimWaiters: Waiter[] = [];
  /** those that wait for the snapshot that is under way */
  #covering: Waiter[] = [];
  #notBeforeRecords = 0;
  /** when this owner first found that a snapshot is due which no record covers yet */
  #dueSinceMs: number | undefined;
  readonly #history: ShardHistory | undefined;

  constructor(options: RetentionOptions) {
    this.#o = options;
    this.#snapshot = options.fold.scalars.snapshot;
    const { history: rules, world } = options;
    this.#history = rules && new ShardHistory({ ...options, rules, shard: world.shard });
  }

  close(): void {
    this.#closed = true;
    this.#history?.close();
    const ended = new TroupeError('UNAVAILABLE', `shard ${this.#o.world.shard} has another owner`);
    for (const { reject } of [...this.#trimWaiters.splice(0), ...this.#covering.splice(0)])
      reject(ended);
  }

  /** Since when a snapshot is due and not stored; 0 if none is. */
  snapshotDueMs(): number {
    return this.#dueSinceMs === undefined ? 0 : this.#o.clock.monotonicMs() - this.#dueSinceMs;
  }

  /**
   * Resolves when everything below the next record is trimmed: nothing that a removed row contained
   * is read again. Elsewhere than on an atomic log, that is when a snapshot covers the next record,
   * and the ones before it are deleted. The caller causes the record.
   * @throws TroupeError UNAVAILABLE when it could not be trimmed, or the shard is no longer owned
   */
  trimmedAll(): Promise<void> {
    return new Promise((resolve, reject) => this.#trimWaiters.push({ resolve, reject }));
  }

  /** Turns of a record that counts at `position`. */
  turnsCommitted(turns: CommittedTurns, position: Position): void {
    this.#history?.committed(turns, position);
  }

  /** A record counts at `position`, and State holds exactly the fold up to it. */
  recorded(position: Position): void {
    if (this.#o.log.atomic) this.#trimCommitted(position);
    else if (this.#isRequested() || this.#isDue()) this.#makeSnapshot(position);
  }

  /**
   * The SNAPSHOT record counts: trims behind the one before it, so that a bad blob costs nothing
   * (T2, T3), and deletes what is older (T4). What fails is done by the next one.
   */
  covered(): void {
    const before = this.#snapshot;
    this.#snapshot = this.#o.fold.scalars.snapshot;
    this.#writing = false;
    this.#notBeforeRecords = 0;
    this.#dueSinceMs = undefined;
    if (this.#covering.length > 0) return this.#coveredAll(this.#covering.splice(0));
    if (!before) return;
    this.#trim(before.covers, before.mailFloor, before.ctlFloor).catch(() => {});
    this.#sweep(before.covers).catch((error: unknown) =>
      this.#failed('deleting old snapshots', error),
    );
  }

  /** Also the snapshot before is given up: what it contains was erased (T2). */
  #coveredAll(waiters: readonly Waiter[]): void {
    const { covers, mailFloor, ctlFloor } = this.#snapshot!;
    const trimming = this.#trim(covers, mailFloor, ctlFloor).then(() => this.#sweep(covers));
    trimming.then(
      () => waiters.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiters.forEach(({ reject }) => reject(error)),
    );
  }

  #trimCommitted(position: Position): void {
    const { fold, journalTail = 1_000 } = this.#o;
    const { mailFloor, ctlFloor } = fold.scalars;
    if (this.#trimWaiters.length > 0) return this.#trimAll(position, mailFloor, ctlFloor);
    const upTo = Math.max(position - journalTail, 0);
    if (mailFloor - this.#mail < TRIM_EVERY && upTo - this.#journal < TRIM_EVERY) return;
    this.#mail = mailFloor;
    this.#journal = upTo;
    this.#trim(upTo, mailFloor, ctlFloor).catch(() => {});
  }

  #trimAll(journal: Position, mail: Position, control: Position): void {
    const waiters = this.#trimWaiters.splice(0);
    this.#mail = mail;
    this.#journal = journal;
    this.#trim(journal, mail, control).then(
      () => waiters.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiters.forEach(({ reject }) => reject(error)),
    );
  }

  /**
   * What history is made of is trimmed when that is stored.
   * @throws TroupeError UNAVAILABLE when something was not trimmed
   */
  async #trim(journal: Position, mail: Position, control: Position): Promise<void> {
    const isStored = !this.#history || (await this.#history.stored());
    if (isStored && !this.#closed && (await this.#trimNow(journal, mail, control))) return;
    throw new TroupeError('UNAVAILABLE', `shard ${this.#o.world.shard} is not trimmed yet`);
  }

  /** Whether everything was trimmed; what was not is reported. */
  async #trimNow(journal: Position, mail: Position, control: Position): Promise<boolean> {
    const { log, env, world } = this.#o;
    const { shard } = world;
    const trims = (
      [
        [journalSubject(env, shard), journal],
        [mailboxSubject(env, shard, 'data'), mail],
        [mailboxSubject(env, shard, 'control'), control],
      ] as const
    ).map(async ([subject, upTo]) => {
      if (upTo > 0) await log.trim(subject, upTo);
    });
    const failed = (await Promise.allSettled(trims)).filter(({ status }) => status === 'rejected');
    for (const { reason } of failed as PromiseRejectedResult[]) this.#failed('trim', reason);
    return failed.length === 0;
  }

  /** Also those of owners that died before their record counted. Newer ones are left alone. */
  async #sweep(covers: Position): Promise<void> {
    const { blobs, world, epoch } = this.#o;
    const prefix = snapshotPrefix(world.cell, world.shard);
    for (const name of await blobs.list(prefix)) {
      if (this.#closed) return;
      if (coversOf(name) < covers) await blobs.delete(name);
    }
    await blobs.dropUnfinished?.(prefix, (name) => isSuperseded(name, covers, epoch));
  }

  /** A snapshot of everything up to now is requested. */
  #isRequested(): boolean {
    return this.#trimWaiters.length > 0 && !this.#writing && !this.#closed;
  }

  #isDue(): boolean {
    const { snapshotEvery = SNAPSHOT_EVERY, snapshotBytes = SNAPSHOT_BYTES, blobs } = this.#o;
    const { records, bytes } = this.#o.fold.scalars.since;
    if (records < snapshotEvery && bytes < snapshotBytes) return false;
    if (bytes * 2 < (this.#snapshot?.bytes ?? 0)) return false;
    this.#dueSinceMs ??= this.#o.clock.monotonicMs();
    if (this.#writing || this.#closed || records < this.#notBeforeRecords) return false;
    return (underWay.get(blobs) ?? 0) < SNAPSHOTS_AT_ONCE;
  }

  #makeSnapshot(position: Position): void {
    this.#writing = true;
    this.#covering = this.#trimWaiters.splice(0);
    this.#writeSnapshot(position).then(
      (blob) => this.#closed || this.#o.onSnapshot(blob),
      (error: unknown) => {
        const { fold, snapshotEvery = SNAPSHOT_EVERY } = this.#o;
        this.#writing = false;
        this.#notBeforeRecords = fold.scalars.since.records + snapshotEvery * RETRY_SHARE;
        // Those that came meanwhile, too: nothing may cause the record that they wait for.
        for (const { reject } of [...this.#covering.splice(0), ...this.#trimWaiters.splice(0)])
          reject(error);
        this.#failed('snapshot', error);
      },
    );
  }

  async #writeSnapshot(position: Position): Promise<SnapshotBlob> {
    const { state, blobs, world, epoch } = this.#o;
    const name = snapshotName(world.cell, world.shard, position, epoch);
    underWay.set(blobs, (underWay.get(blobs) ?? 0) + 1);
    try {
      return await writeSnapshot(blobs, name, await collectRows(state, world.shard), position);
    } finally {
      underWay.set(blobs, underWay.get(blobs)! - 1);
    }
  }

  #failed(what: string, error: unknown): void {
    if (!this.#closed)
      this.#o.alarm(`shard ${this.#o.world.shard}: ${what} failed: ${errorData(error).message}`);
  }
}
