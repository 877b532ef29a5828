/**
 * The addresses that tools may connect to: the public internet, and the configured hosts
 * (`tools.web.allowPrivate`).
 *
 * Boundary: pure. Callers check every address that a name resolves to, and connect to a checked
 * address (`lookup.ts`).
 */
import ipaddr from 'ipaddr.js';
import { TroupeError } from '../../../../protocols/errors.ts';

/**
 * Whether an address is public: not loopback, private, link-local (which includes cloud metadata
 * services), carrier-grade NAT, multicast, reserved or unspecified. An IPv4-mapped IPv6 address is
 * treated as its IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  const bare = text.replace(/%.*$/, '');
  if (!ipaddr.isValid(bare)) return false;
  const address = ipaddr.process(bare);
  if (address.range() !== 'unicast') return false;
  return !(address instanceof ipaddr.IPv6) || isGlobal(address);
}

/** Only 2000::/3 is allocated; NAT64, 6to4 and Teredo have their own ranges. */
const isGlobal = (address: ipaddr.IPv6): boolean => address.parts[0]! >> 13 === 1;

/** Allowed hosts that are not public: names or addresses, each with or without a port. */
export type AllowedHosts = readonly string[];

/** Whether the configuration lists this host, or this host and port. */
export const isAllowedHost = (url: URL, allowed: AllowedHosts): boolean => {
  const host = hostOf(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return allowed.includes(host) || allowed.includes(`${host}:${port}`);
};

/** Removes the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

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
