/** Waits with a limit, on the Clock port. */
import type { Clock } from './clock.ts';

/**
 * The result of `awaited`, or that of `onLate` after `limitMs`. What `awaited` brings later is
 * ignored, also a rejection. `onLate` may throw.
 */
export async function inTime<T, Late = never>(
  clock: Pick<Clock, 'after'>,
  awaited: Promise<T>,
  limitMs: number,
  onLate: () => Late,
): Promise<T | Late> {
  let cancel: (() => void) | undefined;
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.after(limitMs, () => resolve('late'));
  });
  try {
    const first = await Promise.race([awaited.then((value) => ({ value })), late]);
    return first === 'late' ? onLate() : first.value;
  } finally {
    cancel?.();
  }
}
