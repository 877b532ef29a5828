/**
 * When a plugin that failed starts again. Pure: the caller has the clock and the timers.
 *
 * Invariants: the wait doubles with each failure in the window. After FAILURES_MAX failures in the
 * window the circuit opens: there is no start for OPEN_MS, and then one trial. A failed trial opens
 * the circuit again; a trial that runs for STABLE_MS closes it.
 */

/** Failures within WINDOW_MS that open the circuit. */
export const FAILURES_MAX = 5;
export const WINDOW_MS = 600_000;
/** How long an open circuit prevents a start, milliseconds. */
export const OPEN_MS = 600_000;
/** Wait after the first failure, milliseconds. */
export const BACKOFF_MS = 500;
/** A process that has run for this time has proved itself, milliseconds. */
export const STABLE_MS = 60_000;

export type Restarts = {
  /** times of the failures within the window, oldest first */
  readonly failedAt: readonly number[];
  readonly isOpen: boolean;
};

export const NO_FAILURES: Restarts = { failedAt: [], isOpen: false };

/** `waitMs`: until the next start. */
export function afterFailure(
  { failedAt, isOpen }: Restarts,
  now: number,
): { readonly restarts: Restarts; readonly waitMs: number } {
  const recent = [...failedAt.filter((at) => now - at < WINDOW_MS), now];
  if (isOpen || recent.length >= FAILURES_MAX)
    return { restarts: { failedAt: recent, isOpen: true }, waitMs: OPEN_MS };
  return {
    restarts: { failedAt: recent, isOpen: false },
    waitMs: BACKOFF_MS * 2 ** (recent.length - 1),
  };
}

/** A process has run for STABLE_MS. */
export const afterStableRun = (restarts: Restarts): Restarts =>
  restarts.isOpen ? NO_FAILURES : restarts;
