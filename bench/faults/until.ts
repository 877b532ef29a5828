/** Waits for a condition, with a deadline. */
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 10;

/** @throws Error that names the condition when it does not hold in time */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  for (const end = performance.now() + deadlineMs; !(await isSo()); await sleep(LOOK_MS))
    if (performance.now() > end) throw new Error(`${what}: not within ${deadlineMs} ms`);
}
