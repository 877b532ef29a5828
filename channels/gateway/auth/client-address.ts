/**
 * The address of a client, from its socket and from the headers of proxies. Any client can send
 * headers: they count only from an address that the configuration names as a proxy, and unexpected
 * ones only remove rights, never add any.
 *
 * Invariants: a request with a forwarding header is never local; an address that a client wrote
 * into a header is never used as its address.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { plainName } from '../../../protocols/plain-text.ts';
import { isLoopback, type TrustedProxy } from './access.ts';

export type Remote = {
  /** of the client, as far as it is known */
  readonly address: string;
  /** of the socket */
  readonly peer: string;
  /** on this machine, without a proxy in between */
  readonly isLocal: boolean;
  /** the socket is that of a proxy that the configuration names */
  readonly isProxy: boolean;
  /** lower-cased names */
  readonly headers: IncomingHttpHeaders;
  /** of HTTP, as `1.1` */
  readonly httpVersion: string;
};

/**
 * Headers that proxies, tunnels and content delivery networks add: the standard ones, names that
 * carry a client's address, and the prefixes of known vendors.
 */
const FORWARDING: readonly RegExp[] = [
  /(^|[-_])forward(ed|er)?([-_]|$)/,
  /(^|[-_])proxy(user)?([-_]|$)/,
  /^(x-)?via$|^cdn-loop$/,
  /(^|[-_])(client|connecting|originating|real|remote|source|user)[-_](ip|addr|address)$/,
  /^(akamai|cf|cloudfront|fastly|fly|ngrok|surrogate|tailscale)[-_]/,
  /^x[-_](akamai|amz-cf|appengine|arr|azure|envoy|original|traefik|varnish|vercel)([-_]|$)/,
];

/** A header that only a forwarder adds; undefined when there is none. */
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
 * Why a request is not a direct one from this machine to this machine; undefined when it is. The
 * name in `Host` counts because a web page can point its own name here (DNS rebinding). HTTP/1.0
 * counts because nginx forwards with it, and adds no header by default.
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
 * The last address that no trusted proxy wrote about another one: what precedes it was sent by the
 * client.
 */
const clientOf = (forwardedFor: string | string[] | undefined, proxies: AddressList): string => {
  const chain = String(forwardedFor ?? '')
    .split(',')
    .map((each) => plain(each.trim()));
  const client = chain.findLast((each) => !proxies.has(each));
  return client !== undefined && ipaddr.isValid(client) ? client : 'unknown';
};

/**
 * Whom failures and strangers are counted for. Whoever comes by a forwarder of this machine that
 * the configuration does not name is counted apart from this machine, which could else be locked
 * out, or excused (`exemptLoopback`), by what strangers do.
 */
export const accountOf = ({ address, isLocal }: Remote): string =>
  isLoopback(address) && !isLocal ? `forwarded by ${address}` : networkOf(address);

/** One account per network: an IPv6 client has 2^64 addresses, so its network of 64 bits. */
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

/** The one value of a header; undefined when there is none or several. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name.toLowerCase()];
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
};

/** IPv4 written as IPv6 is the IPv4 address. */
const plain = (address: string): string => address.replace(/^::ffff:/i, '');

/** Addresses and ranges, as the configuration names them. */
export class AddressList {
  readonly #ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** What is no address is left out: the configuration has been checked. */
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
