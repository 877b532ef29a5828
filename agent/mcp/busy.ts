/** Servers that refuse a request for a time: 429, and 503 with `Retry-After`. */
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { GuardedFetch } from '../net/guarded-fetch.ts';
import { retryAfterMsOf } from '../net/retry-after.ts';

const BUSY = 'server_busy';

/** The function also throws TroupeError RATE_LIMIT_EXCEEDED or UNAVAILABLE: nothing was done. */
export const refuseBusy =
  (fetch: GuardedFetch): GuardedFetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    const { status, headers, body } = response;
    const retryAfterMs = retryAfterMsOf(headers.get('retry-after'));
    if (status !== 429 && (status !== 503 || retryAfterMs === undefined)) return response;
    await body?.cancel();
    throw new TroupeError(
      status === 429 ? 'RATE_LIMIT_EXCEEDED' : 'UNAVAILABLE',
      `it is busy (${status})`,
      { details: { reason: BUSY }, ...defined({ retryAfterMs }) },
    );
  };

export const isBusy = (error: unknown): error is TroupeError =>
  error instanceof TroupeError && error.details?.['reason'] === BUSY;
