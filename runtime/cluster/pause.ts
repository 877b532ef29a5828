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
