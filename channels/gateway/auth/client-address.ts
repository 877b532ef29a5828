/**
 * The address of a client, from its socket and from the headers of proxies. Any client can send
 * such headers. They are trusted only from an address that the configuration names as a proxy.
 * Unexpected ones only remove rights.
 *
 * Invariants: a request with a forwarding header is never local; an address that the client itself
 * put into a header is never used.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { plainName } from '../../../protocols/plain-text.ts';
import { isLoopback, type TrustedProxy } from './access.ts';

export type Remote = {
  /** the client's address, or the nearest known one */
  readonly address: string;
  /** the socket's remote address */
  readonly peer: string;
  /** the client is on this machine, with no proxy in between */
  readonly isLocal: boolean;
  /** the socket's peer is a configured proxy */
  readonly isProxy: boolean;
  /** names in lower case */
  readonly headers: IncomingHttpHeaders;
  /** such as `1.1` */
  readonly httpVersion: string;
};

/**
 * Headers that proxies, tunnels and content delivery networks add: standard ones, names that carry
 * a client's address, and prefixes of known vendors.
 */
const FORWARDING: readonly RegExp[] = [
  /(^|[-_])forward(ed|er)?([-_]|$)/,
  /(^|[-_])proxy(user)?([-_]|$)/,
  /^(x-)?via$|^cdn-loop$/,
  /(^|[-_])(client|connecting|originating|real|remote|source|user)[-_](ip|addr|address)$/,
  /^(akamai|cf|cloudfront|fastly|fly|ngrok|surrogate|tailscale)[-_]/,
  /^x[-_](akamai|amz-cf|appengine|arr|azure|envoy|original|traefik|varnish|vercel)([-_]|$)/,
];

/** The first header that only a forwarder adds; undefined when there is none. */
const forwardingHeader = (headers: IncomingHttpHeaders): string | undefined =>
  Object.keys(headers).find((name) => FORWARDING.some((pattern) => pattern.test(name)));

export const remoteOf = (
  { socket, headers, httpVersion }: Pick<IncomingMessage, 'socket' | 'headers' | 'httpVersion'>,
  proxies: AddressList,
): Remote => {
  const peer = plain(socket.remoteAddress ?? '');
  const isProxy = proxies.has(peer);
  const isForwarded = forwardingHeader(headers) !== undefined;
  return {
    address: isProxy && isForwarded ? clientOf(headers['x-forwarded-for'], proxies) : peer,
    peer,
    isLocal: isLoopback(peer) && !isForwarded,
    isProxy,
    headers,
    httpVersion,
  };
};

/**
 * Why a request did not come directly from this machine; undefined when it did. `Host` is checked
 * because a web page can resolve its own name to this machine (DNS rebinding). HTTP/1.0 is refused
 * because nginx forwards with it and adds no header by default.
 */
export const whyNotDirect = ({ peer, headers, httpVersion }: Remote): string | undefined => {
  if (!isLoopback(peer)) return 'it comes from another machine';
  const header = forwardingHeader(headers);
  if (header !== undefined) return `it was forwarded: it has the header ${header.slice(0, 64)}`;
  if (httpVersion === '1.0') return 'it was sent by HTTP/1.0, as by a proxy';
  const { host = '' } = headers;
  if (isLoopback(host.replace(/:\d*$/, ''))) return undefined;
  return `its Host header names ${plainName(host, 64) || 'no host'} instead of this machine`;
};

/**
 * The last address in the chain that is not a trusted proxy. The client may have sent all addresses
 * before it.
 */
const clientOf = (forwardedFor: string | string[] | undefined, proxies: AddressList): string => {
  const chain = String(forwardedFor ?? '')
    .split(',')
    .map((each) => plain(each.trim()));
  const client = chain.findLast((each) => !proxies.has(each));
  return client !== undefined && ipaddr.isValid(client) ? client : 'unknown';
};

/**
 * The account for failed attempts and unauthenticated connections. A local forwarder that the
 * configuration does not name has an account of its own. Otherwise the attempts of remote clients
 * could lock out this machine, or `exemptLoopback` would excuse them.
 */
export const accountOf = ({ address, isLocal }: Remote): string =>
  isLoopback(address) && !isLocal ? `forwarded by ${address}` : networkOf(address);

/** The network of an address: an IPv6 client has 2^64 addresses, so the account is its /64. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4' || parsed.range() === 'loopback') return address;
  const { parts } = parsed as ipaddr.IPv6;
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
};

/** The value of a header; undefined when it is absent or repeated. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name.toLowerCase()];
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
};

/** Converts IPv4-mapped IPv6 to IPv4. */
const plain = (address: string): string => address.replace(/^::ffff:/i, '');

/** A configured list of addresses and ranges. */
export class AddressList {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** Skips invalid entries: the configuration has been validated. */
  constructor(list: TrustedProxy['proxies'] = []) {
    this.#ranges = list.flatMap((each) => rangeOf(each) ?? []);
  }

  has(address: string): boolean {
    if (this.#ranges.length === 0 || !ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return this.#ranges.some(
      ([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits),
    );
  }
}

const rangeOf = (text: string): [[ipaddr.IPv4 | ipaddr.IPv6, number]] | undefined => {
  if (ipaddr.isValidCIDR(text)) return [ipaddr.parseCIDR(text)];
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return [[address, address.kind() === 'ipv4' ? 32 : 128]];
};
