/**
 * The addresses that tools may connect to: the public internet, and the configured hosts
 * (`tools.web.allowPrivate`).
 *
 * Callers check every address that a name resolves to, and connect to a checked address
 * (`publicLookup`).
 */
import ipaddr from 'ipaddr.js';
import type { LookupFunction } from 'node:net';
import type { lookup } from 'node:dns';
import { guardedLookup } from '../../../net/guarded-lookup.ts';
import { hostOf, isPublicAddress } from '../../../net/public-address.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';

/** Allowed hosts that are not public: names or addresses, each with or without a port. */
export type AllowedHosts = readonly string[];

/** Whether the configuration lists this host, or this host and port. */
export const isAllowedHost = (url: URL, allowed: AllowedHosts): boolean => {
  const host = hostOf(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return allowed.includes(host) || allowed.includes(`${host}:${port}`);
};

/**
 * Parses and checks a URL to fetch.
 *
 * @throws TroupeError INVALID_ARGUMENT (no http or https URL, or one with a user), FORBIDDEN (an
 *   address that is not public)
 */
export function checkedUrl(text: string, allowed: AllowedHosts): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${JSON.stringify(text.slice(0, 200))} is not an http or https URL`,
    );
  if (url.username !== '' || url.password !== '')
    throw new TroupeError('INVALID_ARGUMENT', 'a URL with a user name or password is not fetched');
  const host = hostOf(url);
  if (ipaddr.isValid(host) && !isPublicAddress(host) && !isAllowedHost(url, allowed))
    throw notPublic(host);
  return url;
}

export const notPublic = (host: string): TroupeError =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet, so it is not fetched; \`tools.web.allowPrivate\` names hosts that are`,
  );

/** @param resolve default `node:dns`; tests replace it */
export const publicLookup = (resolve?: typeof lookup): LookupFunction =>
  guardedLookup({ refusal: notPublic, ...defined({ resolve }) });
