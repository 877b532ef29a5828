/** Waits for a condition instead of for time. */

const DEADLINE_MS = 20_000;
const PAUSE_MS_MIN = 2;
const PAUSE_MS_MAX = 25;
const PAUSE_MS_MAX_OF_SLOW = 100;
/** A pause is this part of the time that was already waited. */
const PAUSE_PART = 1 / 20;

/**
 * Pauses between two looks at a condition. The pauses grow: a look costs a failed assertion, a
 * request or the replay of a journal, and what takes seconds needs the processor for itself.
 * @param lookMs how long the last look took; the pause is not shorter
 */
export const pauseAfter = (waitedMs: number, lookMs = 0): Promise<void> => {
  const grown = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs * PAUSE_PART));
  const pauseMs = Math.max(grown, Math.min(PAUSE_MS_MAX_OF_SLOW, lookMs));
  return new Promise((resolve) => setTimeout(resolve, pauseMs));
};

/** Calls `check` until it no longer throws; throws its last error after `withinMs`. */
export const eventually = async <T>(
  check: () => T | Promise<T>,
  withinMs = DEADLINE_MS,
): Promise<T> => {
  const began = performance.now();
  for (;;) {
    const looked = performance.now();
    try {
      return await check();
    } catch (error) {
      const now = performance.now();
      if (now - began > withinMs) throw error;
      await pauseAfter(now - began, now - looked);
    }
  }
};
