/** Repeats a request to a cell that may be broken, until it is done or the time is over. */
import { setTimeout as sleep } from 'node:timers/promises';

const AGAIN_MS = 150;

/**
 * Resolves with whether `attempt` succeeded before `signal`. It succeeds when it returns true; an
 * error counts as a failed attempt, which `onError` receives.
 */
export async function untilDone(
  attempt: () => Promise<boolean>,
  signal: AbortSignal,
  onError: (error: unknown) => void = () => {},
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      if (await attempt()) return true;
    } catch (error) {
      onError(error);
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
  }
  return false;
}
