/**
 * BearerGuesses: a client that guesses the gateway's secret by plain HTTP is counted and slowed
 * down as one that guesses it by `connect`, in the same accounts: else a password could be found
 * here.
 *
 * Boundary: whom a token admits is for the routes to decide. A signed token (JWT) cannot be
 * guessed: it is neither counted nor delayed, so an old one locks nobody out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type GatewayAuth, sameSecret } from './access.ts';
import type { AuthFailures } from './auth-failures.ts';
import type { Tenancy } from '../tenancy.ts';
import { accountOf, type AddressList, remoteOf } from './remote.ts';

type Parts = {
  readonly auth: GatewayAuth;
  /** whose tokens are no guesses either */
  readonly tenancy?: Pick<Tenancy, 'ofToken' | 'hasTokens'> | undefined;
  readonly failures: AuthFailures;
  readonly proxies: AddressList;
};

const BEARER = /^Bearer +(\S+) *$/i;
const JWT = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

export class BearerGuesses {
  readonly #parts: Parts;
  readonly #hasSecret: boolean;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { auth, tenancy } = parts;
    this.#hasSecret = secretsOf(auth).length > 0 || tenancy?.hasTokens === true;
  }

  /**
   * Milliseconds for which the request is refused; 0: the routes may judge it. A wrong secret is
   * counted at once, so that many at the same time are no more guesses than one after another.
   * Resolves at the request's turn where its account is locked, else there is no promise.
   */
  refusedForMs(request: IncomingMessage, response: ServerResponse): number | Promise<number> {
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (given === undefined || JWT.test(given) || !this.#hasSecret) return 0;
    const { failures, proxies } = this.#parts;
    const account = accountOf(remoteOf(request, proxies));
    if (failures.lockedForMs(account) > 0) return this.#atItsTurn(given, account, response);
    if (!this.#isRight(given)) failures.count(account);
    return 0;
  }

  async #atItsTurn(given: string, account: string, response: ServerResponse): Promise<number> {
    const { failures } = this.#parts;
    const isTurn = await failures.turn(account, { isOpen: () => !response.destroyed });
    if (isTurn && this.#isRight(given)) return 0;
    if (isTurn) failures.count(account);
    return Math.max(1, failures.lockedForMs(account));
  }

  #isRight(given: string): boolean {
    const { auth, tenancy } = this.#parts;
    const isOwn = secretsOf(auth).some((secret) => sameSecret(given, secret));
    return isOwn || tenancy?.ofToken(given) !== undefined;
  }
}

const secretsOf = ({ token, password }: GatewayAuth): readonly string[] =>
  [token, password].filter((secret) => secret !== undefined);
