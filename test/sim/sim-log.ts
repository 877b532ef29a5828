/**
 * SimLog: the Log port of a simulated cluster: one store that all processes share, with latency and
 * seeded faults. The guarantees of the port (P1 to P5) always hold; everything that the port leaves
 * open happens: lost requests, lost answers, copies that arrive after the caller's timeout, a full
 * disk, late hints, failed reads and trims.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import {
  type AppendAnswer,
  type AppendOptions,
  AppendUnknown,
  type Follow,
  type Log,
  type LogEntry,
  type Position,
  type ReadOptions,
} from '../../runtime/log/log.ts';
import { followByReading } from '../../runtime/log/follow.ts';
import { MemoryLog } from '../../runtime/log/memory.ts';
import type { Random } from '../../library/simulation/random.ts';
import type { VirtualClock } from '../../library/simulation/virtual-clock.ts';

/** Probabilities per operation; 0 everywhere is a log without faults. */
export type LogFaults = {
  /** an append whose request never arrives */
  readonly lost: number;
  /** an append that is stored and not answered */
  readonly unanswered: number;
  /** an append that is stored after its caller received an unknown outcome */
  readonly late: number;
  /** a read or a trim that fails */
  readonly failed: number;
  /** an operation that takes much longer than the others, so that later ones overtake it */
  readonly slow: number;
};

export const NO_LOG_FAULTS: LogFaults = { lost: 0, unanswered: 0, late: 0, failed: 0, slow: 0 };

/** One entry as it was stored, in the order of all subjects together. */
export type Stored = LogEntry & { readonly subject: string };

export type SimLogOptions = {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** notified of every entry at the moment it is stored */
  readonly onStored?: (entry: Stored) => void;
};

/** Timeout of a caller that receives no result. */
const GIVE_UP_MS = 200;
const LATE_MS_MAX = 3_000;
const SLOW_MS_MAX = 400;

export class SimLog implements Log {
  readonly atomic = false;
  faults: LogFaults = NO_LOG_FAULTS;
  /** while true, every append is refused because the disk is full */
  full = false;
  readonly #clock: VirtualClock;
  readonly #random: Random;
  readonly #store: ObservedLog;

  constructor({ clock, random, onStored }: SimLogOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#store = new ObservedLog(clock, onStored);
  }

  async append(
    subject: string,
    bytes: Uint8Array,
    options: AppendOptions = {},
  ): Promise<AppendAnswer> {
    const { lost, unanswered, late } = this.faults;
    const fate = this.#random.next();
    if (fate < lost + late) {
      if (fate >= lost) this.#arriveLate(subject, bytes, options);
      await this.#clock.sleep(GIVE_UP_MS);
      throw new AppendUnknown(subject);
    }
    await this.#travel();
    this.#checkRoom();
    const answer = this.#store.appendNow(subject, bytes, options);
    if (fate < lost + late + unanswered) {
      await this.#clock.sleep(GIVE_UP_MS);
      throw new AppendUnknown(subject);
    }
    await this.#travel();
    return answer;
  }

  async last(subject: string): Promise<Position> {
    await this.#travelOrFail();
    const last = await this.#store.last(subject);
    await this.#travel();
    return last;
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    await this.#travelOrFail();
    const entry = await this.#store.readLast(subject);
    await this.#travel();
    return entry;
  }

  async read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]> {
    await this.#travelOrFail();
    const entries = await this.#store.read(subject, from, options);
    await this.#travel();
    return entries;
  }

  follow(subject: string, from: Position): Follow {
    return followByReading(this, subject, from);
  }

  lastKnown(subject: string): Position {
    return this.#store.lastKnown(subject);
  }

  watch(subject: string, onAppended: () => void): () => void {
    let stopped = false;
    const stop = this.#store.watch(subject, () =>
      this.#clock.after(this.#latencyMs(), () => stopped || onAppended()),
    );
    return () => {
      stopped = true;
      stop();
    };
  }

  async trim(subject: string, upTo: Position): Promise<void> {
    await this.#travelOrFail();
    await this.#store.trim(subject, upTo);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #arriveLate(subject: string, bytes: Uint8Array, options: AppendOptions): void {
    const copy = Uint8Array.from(bytes);
    this.#clock.after(this.#random.whole(1, LATE_MS_MAX), () => {
      if (!this.full) this.#store.appendNow(subject, copy, options);
    });
  }

  #checkRoom(): void {
    if (this.full) throw new TroupeError('UNAVAILABLE', 'the disk is full');
  }

  #latencyMs(): number {
    return this.#random.chance(this.faults.slow)
      ? this.#random.whole(1, SLOW_MS_MAX)
      : this.#random.whole(0, 3);
  }

  #travel(): Promise<void> {
    return this.#clock.sleep(this.#latencyMs());
  }

  async #travelOrFail(): Promise<void> {
    await this.#travel();
    if (this.#random.chance(this.faults.failed))
      throw new TroupeError('UNAVAILABLE', 'the log does not answer');
  }
}

/** The log in memory, reporting every entry that it stores. */
class ObservedLog extends MemoryLog {
  readonly #clock: Clock;
  readonly #onStored: ((entry: Stored) => void) | undefined;
  readonly #lasts = new Map<string, Position>();

  constructor(clock: Clock, onStored: ((entry: Stored) => void) | undefined) {
    super(clock, false);
    this.#clock = clock;
    this.#onStored = onStored;
  }

  override appendNow(
    subject: string,
    bytes: Uint8Array,
    options: AppendOptions = {},
  ): AppendAnswer {
    const answer = super.appendNow(subject, bytes, options);
    if (answer.kind === 'refused') return answer;
    this.#tell(subject, bytes);
    return answer;
  }

  #tell(subject: string, bytes: Uint8Array): void {
    const position = (this.#lasts.get(subject) ?? 0) + 1;
    this.#lasts.set(subject, position);
    const logTimeMs = this.#clock.wallMs();
    this.#onStored?.({ subject, position, bytes: Uint8Array.from(bytes), logTimeMs });
  }
}
