/**
 * Where a client is, by its socket and by what proxies say of it (GW3). Headers are anybody's
 * words: they count only from an address that the configuration names as a proxy, and one that was
 * not asked for takes away, never gives.
 *
 * Invariants: a request that carries a forwarding header is never local; an address that a stranger
 * wrote into a header is never the client's address.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isLoopback, type TrustedProxy } from './access.ts';

export type Remote = {
  /** of the client, as far as it is known */
  readonly address: string;
  /** of the socket */
  readonly peer: string;
  /** on this machine, with nobody between */
  readonly isLocal: boolean;
  /** the socket is that of a proxy that the configuration names */
  readonly isProxy: boolean;
  /** lower-cased names */
  readonly headers: IncomingHttpHeaders;
};

const FORWARDING = /^(x-forwarded(-[a-z-]+)?|forwarded|x-real-ip|via|tailscale-[a-z-]+)$/;

export const remoteOf = (
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  proxies: AddressList,
): Remote => {
  const peer = plain(socket.remoteAddress ?? '');
  const isProxy = proxies.has(peer);
  const isForwarded = Object.keys(headers).some((name) => FORWARDING.test(name));
  return {
    address: isProxy && isForwarded ? clientOf(headers['x-forwarded-for'], proxies) : peer,
    peer,
    isLocal: isLoopback(peer) && !isForwarded,
    isProxy,
    headers,
  };
};

/**
 * The last address that no proxy of ours wrote about another of ours: what stands before it was
 * sent by the client.
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

/** One value of a header, undefined when there is none or several, which is nobody's name. */
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
