/**
 * `/.well-known/jwks.json`: the installation's public keys, for every client. Its tokens are signed
 * with one of them, and payloads are sealed to another.
 */
import type { PublishedJwk } from '../edge/identity/sealer.ts';
import { type Route, sendJson } from './route.ts';

const CACHE = { 'cache-control': 'public, max-age=60' };

export const jwksRoutes = (published: () => Promise<readonly PublishedJwk[]>): readonly Route[] => [
  {
    method: 'GET',
    path: '/.well-known/jwks.json',
    handle: async ({ response }) => sendJson(response, 200, { keys: await published() }, CACHE),
  },
];
