/**
 * The protection of a gateway: its settings, whether they are valid for its address, and which web
 * pages may connect. Pure; independent of sockets and frames.
 *
 * Invariants: secrets are compared in constant time; no answer and no log line contains a secret.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { TroupeError } from '../../../protocols/errors.ts';

/** `gateway.auth` of the config. Omitted fields have the config's defaults. */
export type GatewayAuth = {
  /** the credential that a client without a paired device must present */
  readonly mode: 'token' | 'password' | 'none' | 'trusted-proxy';
  readonly token?: string;
  readonly password?: string;
  /**
   * approve a new device on this machine automatically if it presents the right secret; default
   * true
   */
  readonly allowLocal?: boolean;
  /** accept the identity headers of Tailscale Serve; default false */
  readonly allowTailscale?: boolean;
  readonly trustedProxy?: TrustedProxy;
  /**
   * which clients must prove a device identity: none, clients on other machines, or all. A node
   * always must. Default `optional`
   */
  readonly deviceIdentity?: 'optional' | 'remote' | 'always';
  readonly rateLimit?: Partial<RateLimit>;
};

/** The proxy that authenticates users, in mode `trusted-proxy`. */
export type TrustedProxy = {
  /** IP addresses and CIDR ranges of proxies whose forwarding headers are trusted, in every mode */
  readonly proxies: readonly string[];
  /** header with the user's name; default `x-forwarded-user` */
  readonly userHeader?: string;
  /** other headers that are required; default none */
  readonly requiredHeaders?: readonly string[];
  /** default: every user that the proxy names */
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
 * @throws TroupeError INVALID_ARGUMENT when the secret or the proxy is missing, or when a public
 *   bind has neither
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

/** Mode `none` refuses forwarded connections, so a configured forwarder is a mistake. */
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

/** The error message for a client that mode `none` refuses. */
export const onlyDirect = (fault: string): string =>
  `gateway.auth.mode is "none", which admits direct connections from this machine only; ${fault}. ` +
  'Set gateway.auth.mode to "token" to admit others';

/** Compares digests, so that the time reveals neither length nor content. */
export const secretsEqual = (a: string, b: string): boolean =>
  timingSafeEqual(digest(a), digest(b));
const digest = (text: string) => createHash('sha256').update(text).digest();

/** Whether only this machine can reach the host name or address. Accepts IPv4-mapped IPv6. */
export const isLoopback = (host: string): boolean => {
  const bare = host
    .replace(/^\[|\]$/g, '')
    .replace(/^::ffff:/i, '')
    .toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
};

/**
 * Whether a page of this origin may connect. Clients that are not browsers send no origin and may.
 *
 * - A page may connect to its own host, and a page of this machine to this machine.
 * - A local page with a remote address came through a forwarder (a container's port, a tunnel, a
 *   proxy). Its host must match.
 * - Without a secret, only local pages may connect, and only from this machine. With DNS rebinding,
 *   a foreign page could otherwise match the host.
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

/**
 * Whether a request over a loopback address names this machine, or the public host of the gateway,
 * as its host. A page that reaches the gateway by DNS rebinding names its own host instead, and
 * sends no origin with requests that only read.
 */
export const hostAllowed = ({
  host = '',
  localAddress,
  publicUrl,
}: {
  readonly host: string | undefined;
  /** address of this machine that the client has connected to */
  readonly localAddress: string;
  /** base URL of this gateway for other programs */
  readonly publicUrl: string;
}): boolean => {
  if (!isLoopback(localAddress) || isLoopback(host.replace(/:\d+$/, ''))) return true;
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname: name } = new URL(`http://${host}`);
  return isLoopback(name) || name === new URL(publicUrl).hostname || name === OWN_NAME;
};

/** Systems may map their own name to a loopback address. */
const OWN_NAME = hostname().toLowerCase();
