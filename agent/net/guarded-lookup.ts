/**
 * A name lookup for connections that returns only allowed addresses. The connection uses the
 * returned address without a second lookup, which prevents DNS rebinding.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.ts';

export type LookupGuard = {
  /** default: public addresses */
  readonly allows?: (host: string, address: string) => boolean;
  /** the error for a host with an address that is not allowed */
  readonly refusal: (host: string) => Error;
  /** default `node:dns`; tests replace it */
  readonly resolve?: typeof lookup;
};

/** A name is refused when any of its addresses is not allowed. */
export const guardedLookup =
  ({ allows = onlyPublic, refusal, resolve = lookup }: LookupGuard): LookupFunction =>
  (host: string, options: LookupOptions, done) => {
    resolve(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return done(error, []);
      if (found.length === 0 || !found.every(({ address }) => allows(host, address)))
        return done(refusal(host), []);
      if (options.all) return done(null, found);
      done(null, found[0]!.address, found[0]!.family);
    });
  };

const onlyPublic = (_: string, address: string): boolean => isPublicAddress(address);
