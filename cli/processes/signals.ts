/** SIGINT and SIGTERM: the first one starts an orderly stop, the second one exits at once. */
import { exitCodes } from '../exit.ts';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Aborted by the first signal. Call it before there is something to stop, because it listens from
 * then on: PID 1 of a container ignores signals without a listener.
 */
export function untilSignal(): AbortSignal {
  const stop = new AbortController();
  const first = () => {
    for (const signal of signals) {
      process.off(signal, first);
      process.on(signal, () => process.exit(exitCodes.interrupted));
    }
    stop.abort();
  };
  for (const signal of signals) process.on(signal, first);
  return stop.signal;
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
