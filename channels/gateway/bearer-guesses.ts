/**
 * BearerGuesses: who guesses the gateway's secret by plain HTTP is counted and locked out as who
 * guesses it by `connect` (GW3), in the same book: else a password could be found here.
 *
 * Boundary: whom a token lets in is for the routes to say. A signed token (JWT) can not be guessed:
 * it is neither counted nor locked out, so an old one locks nobody out.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../runtime/index.ts';
import { type AuthFailures, type GatewayAuth, sameSecret } from './access.ts';
import type { Tenancy } from '../tenancy.ts';
import { accountOf, type AddressList, remoteOf } from './remote.ts';

type Parts = {
  readonly auth: GatewayAuth;
  /** whose tokens are no guesses either */
  readonly tenancy?: Pick<Tenancy, 'ofToken'> | undefined;
  readonly failures: AuthFailures;
  readonly proxies: AddressList;
  readonly clock: Clock;
};

const BEARER = /^Bearer +(\S+) *$/i;
const JWT = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

export class BearerGuesses {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Milliseconds until a secret may be shown from there again; 0: it may be judged. A wrong one is
   * counted at once, so that many at the same time are no more guesses than one after another.
   */
  lockedForMs(request: IncomingMessage): number {
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const { auth, tenancy, failures, proxies, clock } = this.#parts;
    const secrets = [auth.token, auth.password].filter((secret) => secret !== undefined);
    if (given === undefined || JWT.test(given) || secrets.length === 0) return 0;
    const from = accountOf(remoteOf(request, proxies));
    const now = clock.monotonicMs();
    const lockedMs = failures.lockedForMs(from, now);
    if (lockedMs > 0) return lockedMs;
    const isOwn = secrets.some((secret) => sameSecret(given, secret));
    if (!isOwn && tenancy?.ofToken(given) === undefined) failures.count(from, now);
    return 0;
  }
}
