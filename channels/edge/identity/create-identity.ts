/**
 * Authenticates callers and verifies that an envelope is the caller's. Credentials: the gateway's
 * own token, a tenant's token, or a JWT of a configured issuer. If `gateway.auth.mode` is "none",
 * HTTP requests need no token, because the listener admits only direct connections from this
 * machine.
 *
 * The work that an unauthenticated caller can cause is bounded: a size limit, one digest, one
 * lookup in two bounded maps. A refused token is refused again without verification for 5 s.
 *
 * Invariants: a cached verification is at most 5 minutes old, not past the token's expiry, and made
 * with current keys of the issuer. Envelopes of one caller leave in the order in which they came.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type Clock, LruMap } from '../../../runtime/index.ts';
import type { Caller, Credentials, Identity } from '../edge.ts';
import { unauthorized } from './claims.ts';
import { InOrder } from './in-order.ts';
import { type IssuerOptions, OPERATOR, Tokens, type Verified } from './tokens.ts';
import { assertClaimsMatch, assertSigned, type KeyringReader } from './envelope-verification.ts';

export type IdentityOptions = {
  readonly issuers: readonly IssuerOptions[];
  /** name of this entry point in `aud` (RFC 8707); `a2a.resource` */
  readonly resource: string;
  /** the tenant of the gateway's token, whose operators are the installation's */
  readonly tenant: string;
  /** the gateway's token or password; undefined if there is none */
  readonly gatewayToken?: string | undefined;
  /** maps a token to the tenant of which its holder is an operator */
  readonly tenantOfToken?: (token: string) => string | undefined;
  /** `gateway.auth.mode` is "none": an HTTP request without a token acts as the operator */
  readonly open?: boolean;
  /** rows of the index `keys` */
  readonly keys: KeyringReader;
  readonly clock: Clock;
  readonly warn?: (what: string) => void;
};

export const TOKEN_BYTES_MAX = 8_192;
const VERIFIED_MAX = 10_000;
const REFUSED_MAX = 1_000;
const VERIFIED_MS = 300_000;
const REFUSED_MS = 5_000;
const BEARER = /^Bearer +(\S+) *$/i;

export function createIdentity(options: IdentityOptions): Identity {
  return new TokenIdentity(options);
}

type CachedVerification = Verified & { readonly until: number };
type CachedRefusal = { readonly error: TroupeError; readonly until: number };

class TokenIdentity implements Identity {
  readonly #options: IdentityOptions;
  readonly #tokens: Tokens;
  readonly #operator: Caller;
  readonly #own: Buffer | undefined;
  readonly #verified = new LruMap<string, CachedVerification>(VERIFIED_MAX);
  readonly #refused = new LruMap<string, CachedRefusal>(REFUSED_MAX);
  /** running verifications, so that concurrent requests with one token share one */
  readonly #pending = new Map<string, Promise<Caller>>();
  /** signatures are verified in other threads, which may overtake each other */
  readonly #signed = new InOrder();
  #epoch = 0;

  constructor(options: IdentityOptions) {
    const { gatewayToken, tenant, warn = () => {} } = options;
    this.#options = options;
    this.#tokens = new Tokens({ ...options, warn });
    this.#own = gatewayToken ? digestOf(gatewayToken) : undefined;
    this.#operator = { sub: OPERATOR, roles: [OPERATOR], tenant, profile: 'A2A-Basic' };
  }

  async authenticate({ authorization, transport }: Credentials): Promise<Caller> {
    if (authorization === undefined) {
      if (this.#options.open && transport === 'http') return this.#operator;
      throw new TroupeError(
        'UNAUTHORIZED',
        'the token is missing: send Authorization: Bearer TOKEN',
      );
    }
    if (authorization.length > TOKEN_BYTES_MAX) throw unauthorized('it is too long');
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined)
      throw unauthorized('the Authorization header must have the form Bearer TOKEN');
    const digest = digestOf(token);
    if (this.#own && timingSafeEqual(digest, this.#own)) return this.#operator;
    const tenant = this.#options.tenantOfToken?.(token);
    if (tenant !== undefined) return { ...this.#operator, tenant };
    return this.#known(digest.toString('latin1'), token);
  }

  async verifyEnvelope(
    caller: Caller,
    envelope: unknown,
    { signature }: { signature?: string | undefined },
  ): Promise<void> {
    // The Edge passes only envelopes whose shape it has checked.
    const claimed = envelope as Envelope;
    assertClaimsMatch(caller, claimed);
    if (caller.profile === 'A2A-Basic') return;
    const { keys, clock } = this.#options;
    const signed = assertSigned(caller, claimed, signature, { keys, nowMs: clock.wallMs() });
    await this.#signed.after(`${caller.tenant} ${caller.sub}`, signed);
  }

  #known(key: string, token: string): Caller | Promise<Caller> {
    this.#forgetIfKeysChanged();
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    const believed = this.#verified.get(key);
    if (believed && now < believed.until && clock.wallMs() < believed.expiresAt)
      return believed.caller;
    const refused = this.#refused.get(key);
    if (refused && now < refused.until) throw refused.error;
    const pending = this.#pending.get(key) ?? this.#verify(key, token);
    this.#pending.set(key, pending);
    return pending;
  }

  async #verify(key: string, token: string): Promise<Caller> {
    const epoch = this.#epoch;
    const { clock } = this.#options;
    try {
      const verified = await this.#tokens.verify(token);
      this.#forgetIfKeysChanged();
      // If the keys changed in the meantime, the result may be outdated and is not cached.
      if (epoch === this.#epoch)
        this.#verified.set(key, { ...verified, until: clock.monotonicMs() + VERIFIED_MS });
      return verified.caller;
    } catch (error) {
      const isFinal = error instanceof TroupeError && error.code === 'UNAUTHORIZED';
      if (isFinal && epoch === this.#epoch)
        this.#refused.set(key, { error, until: clock.monotonicMs() + REFUSED_MS });
      throw error;
    } finally {
      this.#pending.delete(key);
    }
  }

  #forgetIfKeysChanged(): void {
    const epoch = this.#tokens.epoch();
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#verified.clear();
    this.#refused.clear();
  }
}

const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer');
