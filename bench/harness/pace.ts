/** Open loop: calls that start at their times, whether or not earlier ones have ended. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Starts `call(at, dueMs)` every `everyMs`, in a fixed order, and waits for all of them.
 * @param count of the calls, or whether there is another one
 * @param call `dueMs` is its time by `performance.now()`. Where the caller may be held up by what
 *   is measured, a wait counts from there, and not from the time at which the call was made
 */
export async function atPace<T>(
  everyMs: number,
  count: number | ((at: number) => boolean),
  call: (at: number, dueMs: number) => Promise<T>,
): Promise<T[]> {
  const isNext = typeof count === 'number' ? (at: number) => at < count : count;
  const calls: Promise<T>[] = [];
  const begun = performance.now();
  for (let at = 0; isNext(at); at++) {
    const due = begun + at * everyMs;
    await sleep(Math.max(0, due - performance.now()));
    calls.push(call(at, due));
  }
  return Promise.all(calls);
}
