/**
 * Retention: what a shard no longer needs is trimmed, never before it is covered (rule I). Where
 * the log is atomic the state rows cover every committed record; elsewhere snapshots do, one
 * generation behind.
 */
import { errorData } from '../../protocols/errors.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Log, Position } from '../log/log.ts';
import type { State } from '../state/state.ts';
import type { TurnWorld } from './context.ts';
import type { Fold } from './fold.ts';
import type { SnapshotMark } from './load.ts';
import { collectRows, type SnapshotBlob, snapshotName, writeSnapshot } from './snapshot.ts';

export type RetentionOptions = {
  readonly world: TurnWorld;
  readonly env: string;
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly fold: Fold;
  readonly epoch: Position;
  /** the snapshot that the fold was loaded from */
  readonly snapshot: SnapshotMark | undefined;
  /** records kept behind the state where the log is atomic; default 1,000 */
  readonly journalTail?: number;
  /** records between snapshots where it is not; default 10,000 */
  readonly snapshotEvery?: number;
  readonly alarm: (what: string) => void;
  /** a snapshot's blob is whole: its record may be written */
  readonly onSnapshot: (blob: SnapshotBlob) => void;
};

const TRIM_EVERY = 256;

export class Retention {
  readonly #o: RetentionOptions;
  #mail: Position = 0;
  #journal: Position = 0;
  #snapshot: SnapshotMark | undefined;
  #writing = false;
  #closed = false;

  constructor(options: RetentionOptions) {
    this.#o = options;
    this.#snapshot = options.snapshot;
  }

  close(): void {
    this.#closed = true;
  }

  /** A record counts at `position`, and State holds exactly the fold up to it. */
  recorded(position: Position): void {
    if (this.#o.log.atomic) this.#trimCommitted(position);
    else this.#maybeSnapshot(position);
  }

  /**
   * The SNAPSHOT record counts: trims behind the one before it, so that a bad blob costs nothing
   * (I2, I3).
   */
  covered(covers: Position): void {
    const before = this.#snapshot;
    const { mailFloor, ctlFloor } = this.#o.fold.scalars;
    this.#snapshot = { covers, mailFloor, ctlFloor };
    this.#writing = false;
    if (before) this.#trim(before.covers, before.mailFloor, before.ctlFloor);
  }

  #trimCommitted(position: Position): void {
    const { fold, journalTail = 1_000 } = this.#o;
    const { mailFloor, ctlFloor } = fold.scalars;
    const upTo = Math.max(position - journalTail, 0);
    if (mailFloor - this.#mail < TRIM_EVERY && upTo - this.#journal < TRIM_EVERY) return;
    this.#mail = mailFloor;
    this.#journal = upTo;
    this.#trim(upTo, mailFloor, ctlFloor);
  }

  #trim(journal: Position, mail: Position, control: Position): void {
    const { log, env, world } = this.#o;
    const { shard } = world;
    for (const [subject, upTo] of [
      [journalSubject(env, shard), journal],
      [mailboxSubject(env, shard, 'data'), mail],
      [mailboxSubject(env, shard, 'control'), control],
    ] as const) {
      if (upTo > 0) log.trim(subject, upTo).catch((error: unknown) => this.#failed('trim', error));
    }
  }

  #maybeSnapshot(position: Position): void {
    const { snapshotEvery = 10_000, state, blobs, world, epoch } = this.#o;
    if (this.#writing || this.#closed || position - (this.#snapshot?.covers ?? 0) < snapshotEvery)
      return;
    this.#writing = true;
    const rows = collectRows(state, world.shard);
    writeSnapshot(
      blobs,
      snapshotName(world.cell, world.shard, position, epoch),
      rows,
      position,
    ).then(
      (blob) => this.#closed || this.#o.onSnapshot(blob),
      (error: unknown) => {
        this.#writing = false;
        this.#failed('snapshot', error);
      },
    );
  }

  #failed(what: string, error: unknown): void {
    if (!this.#closed)
      this.#o.alarm(`shard ${this.#o.world.shard}: ${what} failed: ${errorData(error).message}`);
  }
}
