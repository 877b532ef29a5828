/**
 * Counts and delays wrong Bearer tokens like wrong secrets in `connect`; otherwise a password could
 * be guessed there. HTTP uses the same accounts as `connect`. NATS and a worker's metrics port have
 * separate accounts.
 *
 * Boundary: routes decide what a token may do. A signed token (JWT) cannot be guessed, so it is
 * neither counted nor delayed. An expired one locks no client out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorData } from '../../../protocols/errors.ts';
import { type GatewayAuth, secretsEqual } from './access.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { Tenancy } from '../../tenancy.ts';
import { isUnguessable } from '../../unguessable.ts';
import { AuthFailures } from './failed-attempts.ts';
import { accountOf, type AddressList, remoteOf } from './client-address.ts';

type BearerSecrets = {
  readonly auth: Pick<GatewayAuth, 'token' | 'password' | 'rateLimit'>;
  /** its valid tokens do not count as guesses either */
  readonly tenancy?: Pick<Tenancy, 'ofToken' | 'hasTokens' | 'hasGuessableToken'> | undefined;
};
type Parts = BearerSecrets & {
  readonly failures: AuthFailures;
  readonly proxies: AddressList;
};

/** Failures of the clients that may present these secrets. */
export const createAuthFailures = (
  { auth, tenancy }: BearerSecrets,
  clock: Clock,
): AuthFailures => {
  const isHopeless = secretsOf(auth).every(isUnguessable) && tenancy?.hasGuessableToken !== true;
  return new AuthFailures(auth.rateLimit, clock, isHopeless);
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
   * Returns the milliseconds for which the request is refused; 0 lets the routes decide. A wrong
   * secret is counted at once, so parallel requests allow no more guesses than serial ones. Returns
   * a promise only for a locked account; it resolves at the request's turn.
   */
  refusedForMs(request: IncomingMessage, response: ServerResponse): number | Promise<number> {
    const { authorization } = request.headers;
    // Most requests have a signed token, whose account is of no interest.
    if (this.#guessIn(authorization) === undefined) return 0;
    const account = accountOf(remoteOf(request, this.#parts.proxies));
    const isOpen = () => !response.destroyed;
    return this.judge(authorization, { account, isOpen });
  }

  /** The same for a request of another transport, counted for that account. */
  judge(
    authorization: string | undefined,
    { account, isOpen }: { readonly account: string; readonly isOpen: () => boolean },
  ): number | Promise<number> {
    const given = this.#guessIn(authorization);
    if (given === undefined) return 0;
    const { failures } = this.#parts;
    if (failures.lockedForMs(account) > 0) return this.#atItsTurn(given, account, isOpen);
    if (!this.#isRight(given)) failures.count(account);
    return 0;
  }

  /** A token that may be a wrong secret. */
  #guessIn(authorization = ''): string | undefined {
    const given = this.#hasSecret ? BEARER.exec(authorization)?.[1] : undefined;
    return given === undefined || JWT.test(given) ? undefined : given;
  }

  async #atItsTurn(given: string, account: string, isOpen: () => boolean): Promise<number> {
    const { failures } = this.#parts;
    const isTurn = await failures.turn(account, { isOpen });
    if (isTurn && this.#isRight(given)) return 0;
    if (isTurn) failures.count(account);
    return Math.max(1, failures.lockedForMs(account));
  }

  #isRight(given: string): boolean {
    const { auth, tenancy } = this.#parts;
    const isOwn = secretsOf(auth).some((secret) => secretsEqual(given, secret));
    return isOwn || tenancy?.ofToken(given) !== undefined;
  }
}

/** The error for a client whose account is locked. */
export const tooManyGuesses = (refusedMs: number): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `too many failed attempts: try again in ${Math.ceil(refusedMs / 1_000)} s`,
  retryAfterMs: refusedMs,
});

const secretsOf = ({ token, password }: BearerSecrets['auth']): readonly string[] =>
  [token, password].filter((secret) => secret !== undefined);
