/**
 * The effect of notifications: one POST to a URL that a caller chose.
 *
 * It is sent to public hosts only, unless the application allows others. The resolved address is
 * checked when the connection is made, so that no second lookup can differ. Redirects are not
 * followed, and the response body is not read.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { TroupeError } from '../../protocols/errors.ts';
import { signalWithin } from '../../protocols/time-limit.ts';
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
 * Whether an address is not public (RFC 6890 and its successors). An IPv4 address in the form of
 * IPv6 (`::ffff:a.b.c.d`) is checked as IPv4.
 */
const PRIVATE = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['100::', 64],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv6');

export const isPrivateAddress = (ip: string): boolean =>
  PRIVATE.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');

/**
 * @throws TroupeError INVALID_ARGUMENT (no http or https URL, the other side says that it is
 * wrong), FORBIDDEN (a private address), UNAVAILABLE and DEADLINE_EXCEEDED (it may work later)
 */
export async function post({ url, body }: PostInput, context: EffectContext): Promise<Posted> {
  const { notifier } = context.services as NotifierServices;
  const target = targetOf(url, notifier?.allowPrivate ?? false);
  const status = await send(target, JSON.stringify(body), context, notifier?.allowPrivate ?? false);
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
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) && isPrivateAddress(host)) throw notPublic(host);
  return url;
}

const notPublic = (host: string) =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet: notifications go there only when it is allowed`,
  );

function send(
  url: URL,
  body: string,
  { id, signal }: EffectContext,
  allowPrivate: boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method: 'POST',
      signal: signalWithin(signal, TIMEOUT_MS),
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'idempotency-key': id,
      },
      ...(allowPrivate ? {} : { lookup: publicLookup }),
    });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', (cause) => reject(failureOf(cause, url)));
    sent.end(body);
  });
}

type Found = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Resolves a name like the system, but fails if any of its addresses is not public. */
function publicLookup(hostname: string, options: LookupOptions, done: Found): void {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, []);
    if (found.length === 0 || found.some(({ address }) => isPrivateAddress(address)))
      return done(notPublic(hostname), []);
    if (options.all) return done(null, found);
    done(null, found[0]!.address, found[0]!.family);
  });
}

function failureOf(cause: Error, { origin }: URL): TroupeError {
  if (cause instanceof TroupeError) return cause;
  if (cause.name === 'TimeoutError' || cause.name === 'AbortError')
    return new TroupeError('DEADLINE_EXCEEDED', `${origin} did not answer in time`, { cause });
  return new TroupeError('UNAVAILABLE', `${origin} cannot be reached: ${cause.message}`, {
    cause,
  });
}
