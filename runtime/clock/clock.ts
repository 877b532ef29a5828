/**
 * Clock: the only source of time outside tests' virtual one. Clocks decide when to try, never who
 * may write (I6).
 */
export interface Clock {
  /** Milliseconds since the epoch; may jump. */
  wallMs(): number;
  /** Milliseconds from an arbitrary start; never falls. */
  monotonicMs(): number;
  /**
   * Calls once after at least delayMs (clamped to 0 .. 2^31-1). Returns cancel. Does not keep the
   * process alive.
   */
  after(delayMs: number, call: () => void): () => void;
  /** true: it never stops and is never set, so that long waits need no checks between */
  readonly isSteady?: true;
}

/** The clock of this machine. Tests use the virtual clock of `simulate` instead. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, call) {
    const timer = setTimeout(call, Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};
