/**
 * WalStore: Log and State on a write-ahead log and rows. It connects the parts; `embedded-store.ts`
 * gives them a real folder, and the simulator a failing one.
 *
 * Order of a checkpoint: its frames are synced, its batch is committed, the commit is flushed, and
 * then the segments that it contains are removed. So after a power loss the rows are never newer
 * than the log, and the log reaches back to the rows.
 */
import type { Clock } from '../clock/clock.ts';
import type { State } from '../state/state.ts';
import { WriteBehindState } from '../state/write-behind.ts';
import { Checkpointer } from './checkpointer.ts';
import { EmbeddedLog } from './embedded-log.ts';
import type { Log } from './log.ts';
import type { Rows, RowWrite } from './rows.ts';
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
  /** Every subject of the log that starts with the prefix and ever held an entry. */
  subjects(prefix: string): Iterable<string>;
  readonly state: State;
  /** Stores open requests, writes a checkpoint, then closes everything. May be repeated. */
  close(): Promise<void>;
};

const SYNC_EVERY_MS = 50;
const CHECKPOINT = Buffer.from('checkpoint');

/**
 * @throws TroupeError INTERNAL: details.reason CORRUPT when stored frames are missing or damaged,
 * FORMAT when a newer program wrote them
 */
export const openWalStore = async (options: WalStoreOptions): Promise<WalStore> => {
  const { rows, folder, path, cell, durability, clock, onAlarm, atTurnEnd } = options;
  const subjects = new Subjects(rows);
  let replayed = 0;
  const recovered = recoverWal({
    folder,
    path,
    cell,
    checkpoint: checkpointOf(rows),
    onFrame(frame) {
      for (const entry of entriesOf(frame)) subjects.replay(entry);
      replayed += frame.bytes.length;
    },
  });
  if (recovered.cut !== undefined) onAlarm?.(recovered.cut);
  for (const { name } of recovered.segments) await folder.syncSegment(name);
  await folder.sync();
  const wal = new WriteAheadLog(folder, cell, recovered);
  const health = new StoreHealth();
  const state = new WriteBehindState({
    rows,
    assertSound: () => health.assertSound(),
    changed: (bytes) => checkpointer.changed(bytes),
  });
  const flushes = new Flushes(rows, wal, health);
  const checkpointer = new Checkpointer({
    sources: [subjects, state],
    clock,
    commit: (writes) => rows.commit(writes),
    prepare: (writes) => prepare(writes),
    finish: () => flushes.next(),
    ...(onAlarm ? { onTrouble: (what) => onAlarm(`the data file ${what}`) } : {}),
    ...(options.checkpointEveryMs === undefined ? {} : { everyMs: options.checkpointEveryMs }),
    ...(options.checkpointBytes === undefined ? {} : { bytes: options.checkpointBytes }),
  });
  const prepare = async (writes: RowWrite[]): Promise<void> => {
    health.assertSound();
    const frame = log.shownFrame;
    writes.push({ table: 'meta', key: CHECKPOINT, value: encodeFrameNumber(frame) });
    flushes.taken = frame;
    if (wal.synced < frame) await syncOrFail(wal, health);
  };
  let isSyncing = false;
  const syncSoon = () => {
    if (isSyncing) return;
    isSyncing = true;
    clock.after(options.syncEveryMs ?? SYNC_EVERY_MS, () => {
      isSyncing = false;
      if (!health.isBroken && !wal.isSynced) syncOrFail(wal, health).catch(() => {});
    });
  };
  const isSynced = durability === 'power';
  const log: EmbeddedLog = new EmbeddedLog({
    wal,
    subjects,
    checkpointer,
    health,
    clock,
    isSynced,
    onUnsynced: syncSoon,
    ...(atTurnEnd ? { atTurnEnd } : {}),
  });
  if (replayed > 0) checkpointer.changed(replayed);
  const close = async () => {
    await log.close();
    await checkpointer.close();
    await flushes.idle();
    await state.close();
    wal.close();
    // An unanswered commit may still be writing: the folder stays locked until the process ends.
    if (health.isBroken) return;
    await rows.close();
    await options.release();
  };
  let closing: Promise<void> | undefined;
  return {
    log,
    subjects: (prefix) => subjects.names(prefix),
    state,
    close: () => (closing ??= close()),
  };
};

/** A failed sync ends the store: the kernel forgets what it could not write. */
const syncOrFail = async (wal: WriteAheadLog, health: StoreHealth): Promise<void> => {
  try {
    await wal.sync();
  } catch (cause) {
    health.fail(cause);
    throw cause;
  }
};

/** Removes segments when the checkpoint that contains them is on the disk. One flush at a time. */
class Flushes {
  readonly #rows: Rows;
  readonly #wal: WriteAheadLog;
  readonly #health: StoreHealth;
  /** last frame of the newest batch */
  taken = 0;
  #running: Promise<void> | undefined;

  constructor(rows: Rows, wal: WriteAheadLog, health: StoreHealth) {
    this.#rows = rows;
    this.#wal = wal;
    this.#health = health;
  }

  /** The newest batch is committed. */
  next(): void {
    this.#running ??= this.#run();
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const frame = this.taken;
    try {
      await this.#rows.flushed();
      this.#wal.removeUpTo(frame);
    } catch (cause) {
      this.#health.fail(cause);
    }
    this.#running = undefined;
  }
}

const checkpointOf = (rows: Rows): number => {
  const bytes = rows.get('meta', CHECKPOINT);
  return bytes === undefined ? 0 : Buffer.from(bytes).readUIntBE(0, 6);
};

const encodeFrameNumber = (frame: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(frame, 0, 6);
  return bytes;
};
