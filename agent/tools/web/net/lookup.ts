/**
 * A name lookup for connections that returns only allowed addresses. The connection uses the
 * returned address without a second lookup, which prevents DNS rebinding.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress, notPublic } from './addresses.ts';

/**
 * `resolve` defaults to `node:dns`; tests replace it. A name is refused when any of its addresses
 * is not public.
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
