/** SIGINT and SIGTERM: the first one asks to stop in order, the second one ends at once. */
import { exitCodes } from '../exit.ts';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Aborted by the first signal. Listens from now on: call it before there is something to stop, so
 * that a process that is the first of a container can be stopped at any time.
 */
export function untilSignal(): AbortSignal {
  const asked = new AbortController();
  const first = () => {
    for (const signal of signals) {
      process.off(signal, first);
      process.on(signal, () => process.exit(exitCodes.interrupted));
    }
    asked.abort();
  };
  for (const signal of signals) process.on(signal, first);
  return asked.signal;
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
