/**
 * ShardOwner: the life of one attempt to own a shard. It folds the journal and writes its EPOCH
 * record (A1 to A3); then the shard is owned until it is handed off, lost or quarantined. On any
 * sign of another owner it drops everything (A4, I1). An owner is used once; another attempt needs
 * a new one.
 */
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import type { Position } from '../log/log.ts';
import type { ShardStatus } from '../system.ts';
import { isDamagedRow } from '../state/checked-reads.ts';
import { Journal } from './commit/journal.ts';
import type { OutcomeReport } from './input/outcome-queue.ts';
import { formatNeeded } from './commit/record-format.ts';
import { loadShard } from './recovery/load.ts';
import { OwnedShard } from './owned-shard.ts';
import type { OwnerOptions } from './owner-options.ts';
import { RecordWriter } from './commit/record-writer.ts';
import { ShardTime } from './shard-time.ts';

export type { OwnerOptions };

type Life =
  | { readonly state: 'loading'; readonly writer?: RecordWriter }
  | { readonly state: 'owned'; readonly owned: OwnedShard }
  /** commits the open group, and accepts no inputs */
  | { readonly state: 'handingOff'; readonly owned: OwnedShard }
  | { readonly state: 'stopped' }
  | ({ readonly state: 'lost' | 'quarantined' } & Reason);

type Reason = Pick<ShardStatus, 'formatNeeded'> & { readonly why: string };

export const NOTHING_OWNED = {
  position: 0,
  turnNo: 0,
  mailFloor: 0,
  ctlFloor: 0,
  lag: 0,
  lagUnknown: true,
  now: 0,
  residents: 0,
} as const;

export class ShardOwner {
  readonly shard: number;
  readonly #o: OwnerOptions;
  #life: Life = { state: 'loading' };
  /** position of the EPOCH record of this owner; kept after the shard has ended */
  #epoch: Position = 0;

  constructor(options: OwnerOptions) {
    this.#o = options;
    this.shard = options.world.shard;
  }

  /** Resolves when the shard is owned, lost or quarantined. */
  async start(): Promise<void> {
    try {
      while (this.#isLoading()) await this.#load();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Processes pending inputs. Cheap without any. */
  readonly wake = (): void => {
    if (this.#life.state === 'owned') this.#life.owned.wake();
  };

  /** Commits the open group and releases the shard to the process `to` (A6). */
  async handOff(to = ''): Promise<void> {
    const life = this.#life;
    if (life.state !== 'owned') return this.abandon();
    const { owned } = life;
    this.#life = { state: 'handingOff', owned };
    await owned.handOff(to);
    this.abandon();
  }

  /** As `OwnedShard.report`. */
  report(report: OutcomeReport): Promise<void> | undefined {
    return this.#life.state === 'owned' ? this.#life.owned.report(report) : undefined;
  }

  /** As `Retention.trimmedAll`. @throws TroupeError UNAVAILABLE when the shard is not owned here */
  async trimmedAll(): Promise<void> {
    if (this.#life.state !== 'owned')
      throw new TroupeError('UNAVAILABLE', `shard ${this.shard} is ${this.#life.state}`);
    await this.#life.owned.trimmedAll();
  }

  /** Discards everything immediately, like a crash. */
  abandon(): void {
    if (!this.#hasEnded()) this.#enter({ state: 'stopped' });
  }

  status(): ShardStatus {
    const life = this.#life;
    const { shard } = this;
    if (life.state === 'owned') return { shard, state: 'owned', ...life.owned.status() };
    const state = life.state === 'handingOff' ? 'stopped' : life.state;
    const reason = 'why' in life ? defined({ why: life.why, formatNeeded: life.formatNeeded }) : {};
    return { shard, state, ...NOTHING_OWNED, epoch: this.#epoch, ...reason };
  }

  /**
   * A store that does not answer may answer the next owner, and a damaged cache of rows is folded
   * again (T6). Everything else needs an operator, or a newer program (E6).
   */
  fail(error: unknown): void {
    const { code, message } = errorData(error);
    const cacheIsDamaged = !this.#o.log.atomic && isDamagedRow(error);
    if (cacheIsDamaged) void this.#clearCache();
    if (cacheIsDamaged || code === 'UNAVAILABLE') this.#end('lost', { why: message });
    else this.#quarantine(error);
  }

  #quarantine(error: unknown): void {
    const { message: why } = errorData(error);
    this.#end('quarantined', { why, ...defined({ formatNeeded: formatNeeded(error) }) });
  }

  /** One attempt; another owner may write its EPOCH record first. */
  async #load(): Promise<void> {
    const { log, state, env, world, worker, format } = this.#o;
    const { cell } = world;
    const subject = journalSubject(env, this.shard);
    const isWanted = () => this.#isLoading();
    const from = { ...this.#o, journal: subject, shard: this.shard, cell, isWanted };
    const { fold, last, logTimeMs, voids, unreadable } = await loadShard(from);
    if (!this.#isLoading()) return;
    if (voids > 0) this.#alarm(`${voids} records are void: the fence leaks`);
    for (const why of unreadable) this.#alarm(why);
    const since = fold.scalars.now;
    const time = new ShardTime(this.#o.clock, { isLocal: log.atomic, logTimeMs, since });
    const journal = this.#journalFrom(subject, last, time);
    const now = () => time.now();
    const writer = new RecordWriter({ log, state, env, cell, fold, journal, now, format });
    this.#life = { state: 'loading', writer };
    const epoch = await writer.write({ t: 'EPOCH', worker, ...writer.head() });
    if (epoch.kind === 'lost') return;
    this.#o.onCommitted?.();
    // The stored time may be old, and a new journal has none.
    if (!log.atomic) await journal.measureTime();
    if (!this.#isLoading()) return;
    this.#epoch = epoch.position;
    writer.epoch = epoch.position;
    time.began();
    const loaded = { fold, journal, time, writer };
    const owned = new OwnedShard(this.#o, loaded, {
      onLost: (why) => this.#end('lost', { why }),
      onCorrupt: (error) => this.#quarantine(error),
      onFailed: (error) => this.fail(error),
    });
    this.#life = { state: 'owned', owned };
    owned.start();
  }

  #journalFrom(subject: string, last: number, time: ShardTime): Journal {
    const { log, clock } = this.#o;
    return new Journal({
      log,
      clock,
      subject,
      last,
      onLogTime: (...times) => {
        time.measured(...times);
        if (this.#life.state === 'owned') this.#life.owned.timeMeasured();
      },
      onTrouble: (what) => this.#alarm(`the store ${what}`),
    });
  }

  /** If the cache cannot be cleared now, the next load finds the damage again. */
  async #clearCache(): Promise<void> {
    try {
      await this.#o.state.clear(this.shard);
    } catch (error) {
      this.#alarm(errorData(error).message);
    }
  }

  #alarm(what: string): void {
    this.#o.outside.alarm(`shard ${this.shard}: ${what}`);
  }

  #isLoading(): boolean {
    return this.#life.state === 'loading';
  }

  #hasEnded(): boolean {
    return 'why' in this.#life || this.#life.state === 'stopped';
  }

  /** Ends the ownership. Reported as an end, unless the shard was being handed off. */
  #end(state: 'lost' | 'quarantined', reason: Reason): void {
    if (this.#hasEnded()) return;
    const handingOff = this.#life.state === 'handingOff';
    this.#enter({ state, ...reason });
    if (!handingOff) this.#o.onEnd(state, reason.why);
  }

  #enter(next: Life): void {
    const life = this.#life;
    this.#life = next;
    if ('owned' in life) life.owned.close();
    if ('writer' in life) life.writer?.close();
  }
}
