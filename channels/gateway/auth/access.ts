/**
 * The protection of a gateway: its settings and whether they are valid for its address, and which
 * web pages may connect. Pure; it knows neither sockets nor frames.
 *
 * Invariants: a secret is compared in constant time; no answer and no log line contains a secret.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { TroupeError } from '../../../protocols/errors.ts';

/** `gateway.auth` of the config; what is left out has the default of the config. */
export type GatewayAuth = {
  /** what a client that is no paired device must show */
  readonly mode: 'token' | 'password' | 'none' | 'trusted-proxy';
  readonly token?: string;
  readonly password?: string;
  /** a new device on this machine with the right secret is let in at once; default true */
  readonly allowLocal?: boolean;
  /** the identity headers of Tailscale Serve count; default false */
  readonly allowTailscale?: boolean;
  readonly trustedProxy?: TrustedProxy;
  /**
   * which clients must prove to be a device: none, those on other machines, all; a node always
   * must. Default `optional`
   */
  readonly deviceIdentity?: 'optional' | 'remote' | 'always';
  readonly rateLimit?: Partial<RateLimit>;
};

/** The proxy that authenticates users, in mode `trusted-proxy`. */
export type TrustedProxy = {
  /** IP addresses and CIDR ranges of proxies whose forwarding headers count, in every mode */
  readonly proxies: readonly string[];
  /** header with the user's name; default `x-forwarded-user` */
  readonly userHeader?: string;
  /** headers that must be there as well; default none */
  readonly requiredHeaders?: readonly string[];
  /** default every user that the proxy names */
  readonly allowUsers?: readonly string[];
};

export type RateLimit = {
  /** failures of one account within the window that lock it; default 10 */
  readonly maxAttempts: number;
  /** milliseconds; default 60,000 */
  readonly windowMs: number;
  /** milliseconds; default 60,000 */
  readonly lockoutMs: number;
  /** failures from this machine are not counted; default false */
  readonly exemptLoopback: boolean;
};

/**
 * @throws TroupeError INVALID_ARGUMENT when the secret or the proxy is missing, or a public bind
 * would have neither
 */
export const assertAuthValid = (auth: GatewayAuth, host: string): void => {
  const { mode } = auth;
  if (mode === 'trusted-proxy') {
    if (auth.trustedProxy && auth.trustedProxy.proxies.length > 0) return;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'gateway.auth.mode is "trusted-proxy" but gateway.auth.trustedProxy.proxies is empty: ' +
        'name the IP addresses of the proxy',
    );
  }
  if (mode !== 'none') {
    if (auth[mode]) return;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `gateway.auth.mode is "${mode}" but gateway.auth.${mode} is empty: set it`,
    );
  }
  if (isLoopback(host)) return assertNoForwarder(auth);
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the gateway would listen on ${host} without authentication: set gateway.auth.mode to "token" ` +
      'or "password", or bind to 127.0.0.1',
  );
};

/** Mode `none` refuses every forwarded connection, so a configured forwarder is a mistake. */
const assertNoForwarder = ({ trustedProxy, allowTailscale }: GatewayAuth): void => {
  const key =
    trustedProxy && trustedProxy.proxies.length > 0
      ? 'gateway.auth.trustedProxy (or gateway.tailscale.mode)'
      : allowTailscale
        ? 'gateway.auth.allowTailscale'
        : undefined;
  if (key === undefined) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${key} is set, but gateway.auth.mode "none" refuses forwarded connections: set the mode to ` +
      '"token" or "password"',
  );
};

/** What a client reads that mode `none` refuses. */
export const onlyDirect = (fault: string): string =>
  `gateway.auth.mode is "none", which admits direct connections from this machine only; ${fault}. ` +
  'Set gateway.auth.mode to "token" to admit others';

/** Digests are compared, so that neither length nor content shows in the time. */
export const secretsEqual = (a: string, b: string): boolean =>
  timingSafeEqual(digest(a), digest(b));
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
 * or of this machine to this machine. A page of this machine that comes from elsewhere came through
 * a forwarder (a container's port, a tunnel, a proxy) and has to be of the same host. Without a
 * secret the host must be this machine as well: else a page whose name was made to point here (DNS
 * rebinding) would be of the same host.
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
  if (isLoopback(origin.hostname) && isLoopback(request.remoteAddress)) return true;
  return request.mode !== 'none' && origin.host === request.host?.toLowerCase();
};
