/** Which addresses are on the public internet. Pure. */
import ipaddr from 'ipaddr.js';

/**
 * Whether an address is public: not loopback, private, link-local (which includes cloud metadata
 * services), carrier-grade NAT, multicast, reserved or unspecified (RFC 6890 and its successors).
 * An IPv4-mapped IPv6 address is treated as its IPv4 address.
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

/** Removes the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
