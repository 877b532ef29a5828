/**
 * WalStore: Log and State on a write-ahead log and rows. It connects the parts; `embedded-store.ts`
 * gives them a real folder, and the simulator a failing one.
 *
 * Order of a checkpoint: its frames are synced, its batch is committed, which flushes it, and then
 * the segments that it contains are removed. So after a power loss the rows are never newer than
 * the log, and the log reaches back to the rows.
 */
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { State } from '../state/state.ts';
import { WriteBehindState } from '../state/write-behind.ts';
import { CHECKPOINT, decodeCheckpoint, encodeCheckpoint } from './checkpoint-row.ts';
import { Checkpointer } from './checkpointer.ts';
import { EmbeddedLog } from './embedded-log.ts';
import type { Log } from './log.ts';
import { type Rows, RowsLost, type RowWrite } from './rows.ts';
import { StoreHealth } from './store-health.ts';
import { Subjects } from './subjects.ts';
import type { WalFolder } from './wal/folder.ts';
import { entriesOf } from './wal/frame.ts';
import { recoverWal } from './wal/recovery.ts';
import { WriteAheadLog } from './wal/write-ahead-log.ts';

/**
 * What an answered append survives. `process`: the death of the process in any way; a power loss
 * may cost what was answered since the last sync. `power`: also a power loss.
 */
export type Durability = 'process' | 'power';

export type WalStoreOptions = {
  readonly rows: Rows;
  readonly folder: WalFolder;
  /** of the data folder, for errors */
  readonly path: string;
  readonly cell: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** called when everything is closed, unless a commit may still be writing */
  readonly release: () => Promise<void>;
  /** receives what an operator should see */
  readonly onAlarm?: (what: string) => void;
  /** with durability `process`: longest time between syncs while frames are written. Default 50 */
  readonly syncEveryMs?: number;
  /** as for the Checkpointer */
  readonly checkpointEveryMs?: number;
  readonly checkpointBytes?: number;
  /** calls at the end of the turn of the event loop; default setImmediate */
  readonly atTurnEnd?: (call: () => void) => void;
};

export type WalStore = {
  readonly log: Log;
  readonly state: State;
  /** Every subject of the log that starts with the prefix and ever held an entry. */
  readonly subjects: (prefix: string) => Iterable<string>;
  /**
   * Removes from the disk what is trimmed, removed or overwritten: begins a new segment of the log,
   * writes a checkpoint, removes the older segments, and writes the rows into a new file. Appends
   * continue meanwhile; their changes wait in memory. One call at a time. May be repeated.
   * @throws TroupeError UNAVAILABLE when the data file cannot be written
   */
  readonly scrub: () => Promise<void>;
  /**
   * Resolves when the store failed: it refuses everything with UNAVAILABLE until the process is
   * started again, and loses nothing that it accepted. Never rejects.
   */
  readonly failed: Promise<TroupeError>;
  /** Stores open requests, writes a checkpoint, then closes everything. May be repeated. */
  readonly close: () => Promise<void>;
};

/** Gets one entry with each scrub, so that a new segment has a frame. */
const SCRUB_SUBJECT = 'scrub';

const SYNC_EVERY_MS = 50;

/**
 * @throws TroupeError INTERNAL: details.reason CORRUPT when stored frames are missing or damaged,
 * FORMAT when a newer program wrote them
 */
export const openWalStore = async (options: WalStoreOptions): Promise<WalStore> => {
  const { rows, folder, path, cell, onAlarm } = options;
  const subjects = new Subjects(rows);
  let replayedBytes = 0;
  const recovered = recoverWal({
    folder,
    path,
    cell,
    checkpoint: decodeCheckpoint(rows.get('meta', CHECKPOINT)),
    onFrame(frame) {
      for (const entry of entriesOf(frame)) subjects.replay(entry);
      replayedBytes += frame.bytes.length;
    },
  });
  if (recovered.cut !== undefined) onAlarm?.(recovered.cut);
  // What an earlier process wrote is named as synced from now on.
  for (const { name } of recovered.segments) await folder.syncSegment(name);
  await folder.sync();
  return new OpenStore(
    options,
    subjects,
    new WriteAheadLog(folder, cell, recovered),
    replayedBytes,
  );
};

class OpenStore implements WalStore {
  readonly log: EmbeddedLog;
  readonly state: WriteBehindState;
  readonly #o: WalStoreOptions;
  readonly #subjects: Subjects;
  readonly #wal: WriteAheadLog;
  readonly failed: Promise<TroupeError>;
  readonly #health: StoreHealth;
  readonly #checkpointer: Checkpointer;
  #isSyncDue = false;
  #scrubbing: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(
    options: WalStoreOptions,
    subjects: Subjects,
    wal: WriteAheadLog,
    replayedBytes: number,
  ) {
    const { rows, clock, durability, onAlarm, atTurnEnd } = options;
    const { checkpointEveryMs, checkpointBytes } = options;
    this.#o = options;
    this.#subjects = subjects;
    this.#wal = wal;
    const health = new StoreHealth(onAlarm);
    this.#health = health;
    this.failed = health.failed;
    this.state = new WriteBehindState({
      rows,
      assertSound: () => health.assertSound(),
      changed: (bytes) => this.#checkpointer.changed(bytes),
    });
    this.#checkpointer = new Checkpointer({
      sources: [subjects, this.state],
      clock,
      commit: (writes) => this.#checkpoint(writes),
      ...(onAlarm ? { onTrouble: (what) => onAlarm(`the data file ${what}`) } : {}),
      ...defined({ everyMs: checkpointEveryMs, bytes: checkpointBytes }),
    });
    this.log = new EmbeddedLog({
      wal,
      subjects,
      checkpointer: this.#checkpointer,
      health,
      clock,
      isSynced: durability === 'power',
      onUnsynced: () => this.#syncSoon(),
      ...defined({ atTurnEnd }),
    });
    if (replayedBytes > 0) this.#checkpointer.changed(replayedBytes);
  }

  readonly subjects = (prefix: string): Iterable<string> => this.#subjects.names(prefix);

  readonly close = (): Promise<void> => (this.#closing ??= this.#close());

  readonly scrub = (): Promise<void> => {
    const scrubbing = this.#scrubbing.then(() => this.#scrub());
    this.#scrubbing = scrubbing.catch(() => {});
    return scrubbing;
  };

  async #scrub(): Promise<void> {
    this.#wal.rotate();
    const answer = await this.log.append(SCRUB_SUBJECT, new Uint8Array());
    if (answer.kind === 'stored') this.log.trim(SCRUB_SUBJECT, answer.position - 1).catch(() => {});
    if (!(await this.#checkpointer.now()))
      throw new TroupeError('UNAVAILABLE', 'the data file cannot be written: nothing was scrubbed');
    await this.#checkpointer.alone(async () => {
      const replace = await this.#o.rows.rewrite?.();
      await replace?.().catch((cause: unknown) => {
        this.#health.fail(cause);
        throw cause;
      });
    });
    this.#health.assertSound();
  }

  async #close(): Promise<void> {
    this.#o.rows.closing?.();
    await this.log.close();
    await this.#checkpointer.close();
    await this.state.close();
    this.#wal.close();
    // An unanswered commit may still be writing: the folder stays locked until the process ends.
    if (this.#health.isBroken) return;
    await this.#o.rows.close();
    await this.#o.release();
  }

  /** A batch was taken. It ends with its last frame. */
  async #checkpoint(writes: RowWrite[]): Promise<void> {
    this.#health.assertSound();
    const frame = this.log.shownFrame;
    writes.push({ table: 'meta', key: CHECKPOINT, value: encodeCheckpoint(frame) });
    if (this.#wal.synced < frame) await this.#sync();
    await this.#commit(writes);
    // The batch counts, whatever becomes of its segments.
    await this.#wal.removeUpTo(frame).catch((cause: unknown) => this.#health.fail(cause));
  }

  async #commit(writes: readonly RowWrite[]): Promise<void> {
    try {
      await this.#o.rows.commit(writes);
    } catch (cause) {
      if (cause instanceof RowsLost) this.#health.fail(cause);
      throw cause;
    }
  }

  #syncSoon(): void {
    if (this.#isSyncDue) return;
    this.#isSyncDue = true;
    this.#o.clock.after(this.#o.syncEveryMs ?? SYNC_EVERY_MS, () => {
      this.#isSyncDue = false;
      if (!this.#health.isBroken && !this.#wal.isSynced) this.#sync().catch(() => {});
    });
  }

  /** A failed sync ends the store: the kernel forgets what it could not write. */
  async #sync(): Promise<void> {
    try {
      await this.#wal.sync();
    } catch (cause) {
      this.#health.fail(cause);
      throw cause;
    }
  }
}
