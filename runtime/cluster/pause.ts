/** Waits of a process that joins a cluster. */
import { TroupeError } from '../../protocols/errors.ts';

/** Waits. @throws TroupeError CANCELLED as soon as `signal` is aborted */
export const pause = (delayMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new TroupeError('CANCELLED', 'the wait was ended'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, delayMs);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });

const RETRY_MS = { first: 100, max: 2_000 };
const STATUS_EVERY_MS = 10_000;

/**
 * Repeats `attempt` until it succeeds, and reports at most once in ten seconds why it waits.
 * @param whyWait the reason, for operators; throws what waiting cannot resolve
 * @throws TroupeError CANCELLED as soon as `signal` is aborted
 */
export async function repeated<T>(
  attempt: () => Promise<T>,
  whyWait: (error: unknown) => string,
  {
    onStatus,
    signal,
  }: { readonly onStatus?: (what: string) => void; readonly signal?: AbortSignal },
): Promise<T> {
  let reportedAtMs = -Infinity;
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
    try {
      return await attempt();
    } catch (error) {
      const why = whyWait(error);
      if (performance.now() - reportedAtMs > STATUS_EVERY_MS) {
        reportedAtMs = performance.now();
        onStatus?.(why);
      }
    }
    await pause(delayMs, signal);
  }
}
