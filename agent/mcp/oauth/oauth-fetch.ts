/**
 * Requests to authorization servers, and for the metadata that names them. The MCP server chooses
 * their addresses, so they are guarded as its own: no private address unless its configuration
 * allows it, no redirect to another origin, small answers, a time limit. Headers of the
 * configuration are not sent.
 *
 * Invariant: 429 and 5xx of a token endpoint say nothing about a login, which stays.
 */
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { signalWithin } from '../../../protocols/time-limit.ts';
import { createGuardedFetch, type GuardedFetch } from '../../net/guarded-fetch.ts';
import { hostOf } from '../../net/public-address.ts';
import { retryAfterMsOf } from '../../net/retry-after.ts';

const ANSWER_BYTES_MAX = 262_144;
/** Until an answer is complete, milliseconds. */
const ANSWER_MS = 20_000;

export type OAuthFetchOptions = {
  readonly name: string;
  readonly allowPrivate: boolean;
  /** milliseconds */
  readonly answerMs?: number | undefined;
};

export function createOAuthFetch({
  name,
  allowPrivate,
  ...limits
}: OAuthFetchOptions): GuardedFetch {
  const { answerMs = ANSWER_MS } = limits;
  const guarded = createGuardedFetch({
    allowPrivate,
    refusal: (host) => privateAddress(name, host),
    bytesMax: ANSWER_BYTES_MAX,
  });
  return async (target, init = {}) => {
    const url = new URL(target);
    if (!isConfidential(url))
      throw new TroupeError('FORBIDDEN', `${url.origin} is not reached by https`);
    const signal = signalWithin(init.signal ?? new AbortController().signal, answerMs);
    const response = await guarded(url, { ...init, signal });
    if (isTokenRequest(init)) await refuseBusy(response);
    return response;
  };
}

const isTokenRequest = ({ headers }: RequestInit): boolean =>
  new Headers(headers).get('content-type')?.startsWith('application/x-www-form-urlencoded') ??
  false;

/** @throws TroupeError RATE_LIMIT_EXCEEDED, UNAVAILABLE */
async function refuseBusy({ status, headers, body }: Response): Promise<void> {
  if (status !== 429 && status < 500) return;
  await body?.cancel();
  throw new TroupeError(
    status === 429 ? 'RATE_LIMIT_EXCEEDED' : 'UNAVAILABLE',
    `the authorization server answered HTTP ${status}`,
    defined({ retryAfterMs: retryAfterMsOf(headers.get('retry-after')) }),
  );
}

/** Whether what is sent is encrypted, or stays on this machine. */
export const isConfidential = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && isThisMachine(url));

const isThisMachine = (url: URL): boolean =>
  ['localhost', '127.0.0.1', '::1'].includes(hostOf(url));

export const privateAddress = (name: string, host: string): TroupeError =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet; mcp.servers.${name}.allowPrivate permits it`,
  );
