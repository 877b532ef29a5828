/**
 * ClockWatch: detects a wrong clock and raises one alarm per episode. It is only a diagnosis: no
 * clock decides what is safe (I6).
 */
import type { ShardStatus } from '../system.ts';
import type { Clock } from './clock.ts';

export type ClockStatus = {
  /** how far shard times are ahead of the log's clock, which was set back; normally 0 */
  readonly aheadMs: number;
  /** how far this machine's clock is ahead of the log's, or behind it when negative */
  readonly offMs: number;
  /** the same without a threshold: also differences that are no fault */
  readonly skewMs: number;
};

/** Difference between this machine's clock and the log's above which an alarm is raised. */
const OFF_MS_MAX = 60_000;
const LOOK_MS = 5_000;

/** Computed from the status of the shards, here and on other nodes. */
export function clockStatus(shards: readonly ShardStatus[], wallMs: number): ClockStatus {
  const owned = shards.filter(({ state, now }) => state === 'owned' && now > 0);
  if (owned.length === 0) return { aheadMs: 0, offMs: 0, skewMs: 0 };
  const aheadMs = Math.max(...owned.map((one) => one.clockAheadMs ?? 0));
  const logClockMs = Math.max(...owned.map((one) => one.now - (one.clockAheadMs ?? 0)));
  const skewMs = Math.round(wallMs - logClockMs);
  return { aheadMs, offMs: Math.abs(skewMs) > OFF_MS_MAX ? skewMs : 0, skewMs };
}

/** A problem of the clocks, as text for operators; undefined without a problem. */
export function clockFault({ aheadMs, offMs }: Omit<ClockStatus, 'skewMs'>): string | undefined {
  const faults = [
    ...(aheadMs > 0
      ? [
          `the clock was set back: stored times are ${spanOf(aheadMs)} ahead of it until it has caught up`,
        ]
      : []),
    ...(offMs === 0
      ? []
      : [
          `the clock of this machine is ${spanOf(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the store's: set it`,
        ]),
  ];
  return faults.length > 0 ? `${faults.join('; ')} (docs/semantics.md, Clocks)` : undefined;
}

const spanOf = (ms: number): string => {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
};

export class ClockWatch {
  readonly #clock: Clock;
  readonly #shards: () => readonly ShardStatus[];
  readonly #alarm: (what: string) => void;
  #isWrong = false;
  #cancel: () => void;

  constructor(clock: Clock, shards: () => readonly ShardStatus[], alarm: (what: string) => void) {
    this.#clock = clock;
    this.#shards = shards;
    this.#alarm = alarm;
    this.#cancel = clock.after(LOOK_MS, () => this.#look());
  }

  close(): void {
    this.#cancel();
  }

  #look(): void {
    this.#cancel = this.#clock.after(LOOK_MS, () => this.#look());
    const fault = clockFault(clockStatus(this.#shards(), this.#clock.wallMs()));
    if (fault !== undefined && !this.#isWrong) this.#alarm(fault);
    if (fault === undefined && this.#isWrong) this.#alarm('the clock is correct again');
    this.#isWrong = fault !== undefined;
  }
}
