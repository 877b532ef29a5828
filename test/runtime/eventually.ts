/** Waits for a condition instead of for time. */

const DEADLINE_MS = 20_000;

/** Calls `check` until it no longer throws; throws its last error after `withinMs`. */
export const eventually = async <T>(
  check: () => T | Promise<T>,
  withinMs = DEADLINE_MS,
): Promise<T> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
};
