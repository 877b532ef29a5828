/**
 * Replica: the rows of one shard on a process that does not own it, kept current with its journal:
 * for lists and pages, and for a worker that takes the shard over now or when its owner dies. It
 * folds records that count, as an owner does when it loads, and writes only its own State.
 *
 * Invariants: State contains exactly the fold at `position`, which never decreases while a reader
 * waits, unless the journal has lost records.
 */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { journalSubject } from '../../protocols/subjects.ts';
import { errorData } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { Follow, LogEntry, Position } from '../log/log.ts';
import { catchUp, loadShard, type LoadFrom, type Loaded } from '../shard/recovery/load.ts';
import { CorruptRecord } from '../shard/commit/record-format.ts';
import { decodeRecord } from '../shard/commit/records.ts';

export type ReplicaOptions = Omit<LoadFrom, 'journal'> & {
  readonly env: string;
  readonly clock: Clock;
  readonly onAlarm: (what: string) => void;
  /** no caller waits for it: loading it takes half of the process's time at most, and 4 MB/s */
  readonly isPaced?: boolean;
  /** resolves when nothing else writes the shard's rows; default at once */
  readonly after?: Promise<void>;
};

/** Least time for 128 KiB of rows that are loaded while no caller waits: commits stay short. */
const PACE_MS = 30;
const RETRY_MS = { first: 100, max: 5_000 };

/** Earlier records were trimmed or are being trimmed: the replica starts again. */
class Gap extends Error {}
/** The journal does not contain a record that State contains: the replica starts again. */
class Replaced extends Error {}

/** The last record that was read, whether or not it counts. */
type End = Pick<Loaded, 'last' | 'lastId'>;

export class Replica {
  readonly #o: ReplicaOptions & LoadFrom;
  readonly #done: Promise<void>;
  #position: Position | undefined;
  /** why the journal could not be read the last time */
  #trouble: string | undefined;
  #waiting: { readonly position: Position; readonly resolve: () => void }[] = [];
  /** resolve when the first load has ended, in whatever way */
  #loading: (() => void)[] = [];
  #follow: Follow | undefined;
  #closed = false;
  #wakeUp: (() => void) | undefined;
  #isPaced: boolean;

  constructor(options: ReplicaOptions) {
    this.#o = { ...options, journal: journalSubject(options.env, options.shard) };
    this.#isPaced = options.isPaced ?? false;
    this.#done = this.#run();
  }

  /** The position that State has reached at least; undefined before the first read. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** Records of the journal that State does not contain, as far as is known. */
  get lag(): number {
    return this.#follow?.pending ?? 0;
  }

  /** A caller waits for it from now on: it loads as fast as it can. */
  hurry(): void {
    this.#isPaced = false;
  }

  /** Resolves when a load that is running has ended, whether or not it succeeded. */
  async loaded(): Promise<void> {
    this.hurry();
    if (this.#closed || (this.#position ?? this.#trouble) !== undefined) return;
    await new Promise<void>((resolve) => this.#loading.push(resolve));
  }

  /** Why State does not follow the journal now. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when State contains the record at `position`, or the replica is closed. */
  reached(position: Position): Promise<void> {
    if (this.#closed || (this.#position ?? -1) >= position) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ position, resolve }));
  }

  /** Resolves when the replica has stopped writing. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#follow?.close();
    this.#wakeUp?.();
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting = [];
    this.#loadEnded();
    await this.#done;
  }

  async #run(): Promise<void> {
    await this.#o.after;
    let backoffMs = RETRY_MS.first;
    while (!this.#closed) {
      try {
        const isWanted = () => !this.#closed;
        const loaded = await loadShard({ ...this.#o, isWanted, pause: this.#pacer() });
        if (this.#closed) return;
        await catchUp(loaded, this.#o.state);
        this.#moved(loaded.last);
        backoffMs = RETRY_MS.first;
        await this.#keepUp(loaded);
      } catch (error) {
        if (this.#closed) return;
        this.#trouble = `shard ${this.#o.shard} cannot be read here: ${errorData(error).message}`;
        this.#loadEnded();
        const isLate = !(error instanceof Gap) && backoffMs >= RETRY_MS.max;
        if (isLate || error instanceof Replaced) this.#o.onAlarm(this.#trouble);
        // Rows of a record that was lost must not be read.
        if (error instanceof Replaced) this.#position = undefined;
        await this.#pause(backoffMs);
        backoffMs = Math.min(backoffMs * 2, RETRY_MS.max);
      }
    }
  }

  async #keepUp(loaded: Loaded): Promise<void> {
    for (let end: End = loaded; !this.#closed; ) {
      await this.#confirm(end);
      end = await this.#followFrom(loaded, end);
    }
  }

  /** Folds what is stored after `from`, until the replica is closed or the follow interrupted. */
  async #followFrom(loaded: Loaded, from: End): Promise<End> {
    const { log, journal, state } = this.#o;
    let end = from;
    const follow = log.follow(journal, end.last + 1, () => follow.close());
    this.#follow = follow;
    try {
      while (!this.#closed) {
        const entries = await follow.next();
        if (entries.length === 0) break;
        for (const entry of entries) end = this.#replay(loaded, end.last, entry);
        await catchUp(loaded, state);
        this.#moved(end.last);
      }
      return end;
    } catch (error) {
      await this.#confirm(end);
      throw error;
    } finally {
      follow.close();
    }
  }

  /**
   * Compares the end with the journal, which may have been restored from an older disk: it lost
   * its last records then, and others may have their positions.
   * @throws Gap if the record was trimmed; Replaced
   */
  async #confirm({ last, lastId }: End): Promise<void> {
    const { log, journal } = this.#o;
    const [found] = last === 0 ? [] : await log.read(journal, last, { limit: 1 });
    if (last === 0 || (found && isRecord(found, last, lastId))) return;
    const [first] = await log.read(journal, 1, { limit: 1 });
    if (first && first.position > last) throw new Gap(`records up to ${last} were trimmed`);
    throw new Replaced(
      `the journal has lost record ${last} (${lastId}), which the rows here contain: was NATS ` +
        'restored from older data? The rows are dropped and read again',
    );
  }

  /** Folds a record if it counts (C4). */
  #replay({ fold }: Loaded, before: Position, { bytes, position }: LogEntry): End {
    const record = decodeRecord(bytes, position);
    if (record.cell !== this.#o.cell)
      throw new CorruptRecord(`journal record ${position} is of cell ${record.cell}`);
    if (record.prev > before) throw new Gap(`records ${before + 1} to ${record.prev} are missing`);
    if (record.prev === before) fold.replay(record, bytes.length);
    return { last: position, lastId: record.recId };
  }

  #moved(position: Position): void {
    this.#position = position;
    this.#trouble = undefined;
    this.#loadEnded();
    const reached = this.#waiting.filter((waiting) => waiting.position <= position);
    this.#waiting = this.#waiting.filter((waiting) => waiting.position > position);
    for (const { resolve } of reached) resolve();
  }

  #loadEnded(): void {
    for (const resolve of this.#loading.splice(0)) resolve();
  }

  /** Rests after each slice for as long as the slice took, unless a caller waits. */
  #pacer(): () => Promise<void> {
    const { clock } = this.#o;
    let begunMs = clock.monotonicMs();
    return async () => {
      const tookMs = clock.monotonicMs() - begunMs;
      if (!this.#isPaced || this.#closed) await letOthersRun();
      else await new Promise<void>((resolve) => clock.after(Math.max(tookMs, PACE_MS), resolve));
      begunMs = clock.monotonicMs();
    };
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#o.clock.after(delayMs, resolve);
      this.#wakeUp = () => {
        cancel();
        resolve();
      };
    });
  }
}

const isRecord = ({ bytes, position }: LogEntry, at: Position, recId: string): boolean =>
  position === at && decodeRecord(bytes, position).recId === recId;
