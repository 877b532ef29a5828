/**
 * Who may come in: the shared secret, how often an IP may guess it, and which web pages may connect
 * at all (GW3, GW5). Pure but for the failure counts; knows neither sockets nor frames.
 *
 * Invariants: a secret is compared in constant time; no answer and no log line carries a secret.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { TroupeError } from '../../protocols/errors.ts';
import type { ConnectErrorCode, ConnectParams } from '../../protocols/gateway/index.ts';
import { AUTH_FAILURES_MAX, AUTH_IPS_MAX, AUTH_LOCKOUT_MS, AUTH_WINDOW_MS } from './limits.ts';

/** `gateway.auth` of the config. */
export type GatewayAuth = {
  readonly mode: 'token' | 'password' | 'none';
  readonly token?: string;
  readonly password?: string;
};

export type Refusal = { readonly code: ConnectErrorCode; readonly message: string };

/**
 * @throws TroupeError INVALID_ARGUMENT when the secret is missing, or a public bind would have none
 * (GW5)
 */
export const assertAuthFits = (auth: GatewayAuth, host: string): void => {
  if (auth.mode !== 'none') {
    if (auth[auth.mode]) return;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `gateway.auth.mode is "${auth.mode}" but gateway.auth.${auth.mode} is empty: set it`,
    );
  }
  if (isLoopback(host)) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the gateway would listen on ${host} without authentication: set gateway.auth.mode to "token" ` +
      'or "password", or bind to 127.0.0.1',
  );
};

/** Undefined when the client may come in. */
export const checkSecret = (
  auth: GatewayAuth,
  given: ConnectParams['auth'],
): Refusal | undefined => {
  if (auth.mode === 'none') return undefined;
  const name = auth.mode === 'token' ? 'TOKEN' : 'PASSWORD';
  const secret = given?.[auth.mode];
  if (!secret) {
    const message = `unauthorized: send the gateway's ${auth.mode} as auth.${auth.mode}`;
    return { code: `AUTH_${name}_MISSING`, message };
  }
  if (sameSecret(secret, auth[auth.mode] ?? '')) return undefined;
  const message = `unauthorized: this is not the gateway's ${auth.mode}`;
  return { code: `AUTH_${name}_MISMATCH`, message };
};

/** Digests are compared, so that neither length nor content shows in the time. */
const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string) => createHash('sha256').update(text).digest();

/** Host names and addresses that only this machine reaches. IPv4 written as IPv6 counts. */
export const isLoopback = (host: string): boolean => {
  const bare = host
    .replace(/^\[|\]$/g, '')
    .replace(/^::ffff:/i, '')
    .toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
};

/**
 * May a page of this origin connect? No origin: not a browser. Otherwise a page of the same host,
 * or of this machine to this machine. Without a secret the host must be this machine as well: else
 * a page whose name was made to point here (DNS rebinding) would be of the same host.
 */
export const originAllowed = (request: {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly remoteAddress: string;
  readonly mode: GatewayAuth['mode'];
}): boolean => {
  if (request.origin === undefined) return true;
  const origin = URL.canParse(request.origin) ? new URL(request.origin) : undefined;
  if (origin === undefined) return false;
  if (isLoopback(origin.hostname)) return isLoopback(request.remoteAddress);
  return request.mode !== 'none' && origin.host === request.host?.toLowerCase();
};

/** Refused secrets per IP: 10 in a minute lock the IP out for a minute. */
export class AuthFailures {
  readonly #failures = new Map<string, { times: number[]; lockedUntil: number }>();

  /** Milliseconds until this IP may try again; 0 when it may now. */
  lockedForMs(ip: string, nowMs: number): number {
    return Math.max(0, (this.#failures.get(ip)?.lockedUntil ?? 0) - nowMs);
  }

  count(ip: string, nowMs: number): void {
    const known = this.#failures.get(ip);
    const times = (known?.times ?? []).filter((time) => time > nowMs - AUTH_WINDOW_MS);
    times.push(nowMs);
    const locked = times.length >= AUTH_FAILURES_MAX;
    this.#failures.delete(ip);
    this.#failures.set(ip, {
      times: locked ? [] : times,
      lockedUntil: locked ? nowMs + AUTH_LOCKOUT_MS : 0,
    });
    const oldest = this.#failures.keys().next();
    if (this.#failures.size > AUTH_IPS_MAX && !oldest.done) this.#failures.delete(oldest.value);
  }

  forget(ip: string): void {
    this.#failures.delete(ip);
  }
}
