/**
 * A look-up of names for connections: as the system does it, but it gives out only addresses that
 * may be spoken to. The connection is made to what it gives, with no second look-up between, so a
 * name that answers differently the second time (DNS rebinding) gains nothing.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress, notPublic } from './addresses.ts';

/**
 * `resolve` is `node:dns`'s, but in tests. A name with any address that is not public is refused
 * whole.
 */
export const publicLookup =
  (resolve: typeof lookup = lookup): LookupFunction =>
  (hostname: string, options: LookupOptions, done) => {
    resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return done(error, []);
      if (found.length === 0 || !found.every(({ address }) => isPublicAddress(address)))
        return done(notPublic(hostname), []);
      if (options.all) return done(null, found);
      done(null, found[0]!.address, found[0]!.family);
    });
  };
