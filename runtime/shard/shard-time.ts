/**
 * ShardTime: the time of a shard (rule H1). It follows the log's clock and never falls; records,
 * timers and deadlines use it. The log's clock may be set back; `aheadMs` is how far shard time is
 * ahead of it, for comparisons with dates from outside.
 *
 * Where the log is atomic, its clock is this process's. Elsewhere it is the server's, measured with
 * records of this owner and continued by the monotonic clock. No wall clock of a worker is used.
 */
import type { Clock } from '../clock/clock.ts';
import { type ForwardJump, LogTime } from '../log/log-time.ts';

/** Jumps that are remembered; the oldest is forgotten first. */
const JUMPS_MAX = 64;

export class ShardTime {
  readonly #isLocal: boolean;
  readonly #time: LogTime;
  /** the log's clock less the monotonic one, where the log's clock is elsewhere */
  #offsetMs: number;
  #jumps: ForwardJump[] = [];
  /** a clock was set: the next record, if only an empty one, measures the log's clock again */
  isDoubtful = false;

  /** @param logTimeMs of the last record that is stored; @param since the fold's time */
  constructor(
    clock: Clock,
    { isLocal, logTimeMs, since }: { isLocal: boolean; logTimeMs: number; since: number },
  ) {
    this.#isLocal = isLocal;
    this.#offsetMs = Math.max(logTimeMs, since) - clock.monotonicMs();
    const shown = () => (isLocal ? clock.wallMs() : clock.monotonicMs() + this.#offsetMs);
    this.#time = new LogTime(
      { wallMs: shown, monotonicMs: () => clock.monotonicMs() },
      (jump) => void (this.#jumps = [...this.#jumps, jump].slice(-JUMPS_MAX)),
    );
    this.#time.found(since);
  }

  now(): number {
    return this.#time.now();
  }

  /** How far shard time is ahead of the log's clock, which was set back; else 0. */
  aheadMs(): number {
    return this.#time.aheadMs();
  }

  /** How far the time of a new entry is behind shard time: a local log's never is. */
  stampLagMs(): number {
    return this.#isLocal ? 0 : this.aheadMs();
  }

  /** The log's clock showed `logTimeMs` when the monotonic one showed `atMs`. */
  measured(logTimeMs: number, atMs: number): void {
    this.#offsetMs = logTimeMs - atMs;
  }

  /** Time that passed while the shard had no owner is not a jump of a clock. */
  began(): void {
    this.now();
    this.#jumps = [];
  }

  /**
   * How much of the time from `fromMs` to `dueMs` no process has lived through, because the clock
   * jumped over it: the machine was suspended, or its clock was set.
   * @param fromMs undefined: unknown, some time before `dueMs`
   */
  skippedMs(fromMs: number | undefined, dueMs: number): number {
    this.now();
    const isWithin = ({ fromMs: before, toMs: after }: ForwardJump) =>
      before < dueMs && (fromMs === undefined ? dueMs <= after : fromMs <= before);
    return this.#jumps
      .filter(isWithin)
      .reduce((sum, { fromMs: before, toMs: after }) => sum + after - before, 0);
  }
}
