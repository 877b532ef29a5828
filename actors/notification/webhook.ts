/**
 * The effect of notifications: one POST to a URL that a caller chose.
 *
 * It is sent to public hosts only, unless the application allows others. The resolved address is
 * checked when the connection is made, so that no second lookup can differ. Redirects are not
 * followed, and the response body is not read.
 */
import { isIP } from 'node:net';
import { guardedLookup } from '../../agent/net/guarded-lookup.ts';
import { guardedRequest } from '../../agent/net/guarded-request.ts';
import { hostOf, isPublicAddress } from '../../agent/net/public-address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { EffectContext } from '../../runtime/index.ts';
import type { Posted, PostInput } from './notice.ts';

/** What an application may configure for the effects of notifications. */
export type NotifierServices = {
  readonly notifier?: {
    /** posts to loopback and private networks, too; default false */
    readonly allowPrivate?: boolean;
  };
};

const TIMEOUT_MS = 10_000;

/**
 * @throws TroupeError INVALID_ARGUMENT (no http or https URL, the other side says that it is
 * wrong), FORBIDDEN (a private address), UNAVAILABLE and DEADLINE_EXCEEDED (it may work later)
 */
export async function post({ url, body }: PostInput, context: EffectContext): Promise<Posted> {
  const { notifier } = context.services as NotifierServices;
  const allowPrivate = notifier?.allowPrivate ?? false;
  const target = targetOf(url, allowPrivate);
  const response = await guardedRequest(target, {
    method: 'POST',
    headers: { 'idempotency-key': context.id },
    body: JSON.stringify(body),
    signal: context.signal,
    timeoutMs: TIMEOUT_MS,
    agent: false,
    lookup: allowPrivate ? undefined : publicLookup,
  });
  response.resume();
  const { statusCode: status = 0 } = response;
  if (status < 300) return { status };
  const message = `${target.origin} answered the notification with status ${status}`;
  if (status >= 500 || status === 408 || status === 429)
    throw new TroupeError('UNAVAILABLE', message);
  throw new TroupeError('INVALID_ARGUMENT', message);
}

function targetOf(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new TroupeError('INVALID_ARGUMENT', 'a notification goes to an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new TroupeError('INVALID_ARGUMENT', 'the URL of a notification names no user');
  const host = hostOf(url);
  if (!allowPrivate && isIP(host) && !isPublicAddress(host)) throw notPublic(host);
  return url;
}

const notPublic = (host: string) =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet: notifications go there only when it is allowed`,
  );

const publicLookup = guardedLookup({ refusal: notPublic });
