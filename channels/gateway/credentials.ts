/**
 * What a client shows of who it is, and whether it is true (GW3): the shared secret, the token of
 * its device, what a proxy found out, what the tailnet says. The signature of its device is judged
 * apart (device-auth.ts), and what it may then do by pairing.ts.
 *
 * Invariants: every secret is compared in constant time; an identity in a header counts only when a
 * proxy that the configuration names, or the Tailscale daemon of this machine, vouches for it.
 */
import type { DeviceRole, DeviceRow } from '../../protocols/device.ts';
import type { ConnectErrorCode, ConnectParams } from '../../protocols/gateway/index.ts';
import { type GatewayAuth, isLoopback, sameSecret, type TrustedProxy } from './access.ts';
import type { AuthMethod } from './connection.ts';
import { isToken } from './device-tokens.ts';
import { headerOf, type Remote } from './remote.ts';
import type { Whois } from './tailscale.ts';

export type Shown = {
  readonly ok: true;
  readonly method: AuthMethod;
  /** whom a proxy or the tailnet knows the client as */
  readonly user?: string;
};
export type Refusal = {
  readonly ok: false;
  readonly code: ConnectErrorCode;
  readonly message: string;
  /** what the client may do, for `details` */
  readonly hint?: object;
};

export type Asker = {
  readonly params: ConnectParams;
  readonly role: DeviceRole;
  readonly remote: Remote;
  /** of the device that the client says to be */
  readonly row: DeviceRow | undefined;
};

/** Never rejects. */
export const identify = async (
  auth: GatewayAuth,
  whois: Whois,
  asker: Asker,
): Promise<Shown | Refusal> => {
  if (auth.mode === 'none') return { ok: true, method: 'none' };
  const { params, remote } = asker;
  const shared = sharedSecret(auth, asker);
  if (shared !== undefined) return shared;
  if (hasDeviceToken(asker)) return { ok: true, method: 'device-token' };
  if (auth.mode === 'trusted-proxy') return proxied(auth.trustedProxy, remote);
  const { token, password, deviceToken } = params.auth ?? {};
  const isForwarded = remote.headers['x-forwarded-for'] !== undefined;
  const mayBeTailnet = isForwarded || headerOf(remote.headers, LOGIN) !== undefined;
  if (auth.allowTailscale && mayBeTailnet && !token && !password && !deviceToken) {
    return ofTailnet(whois, remote);
  }
  return secretRefused(auth.mode, params);
};

/**
 * The right secret. Beside a proxy it is for this machine only, as a way in when the proxy fails.
 */
const sharedSecret = (auth: GatewayAuth, { params, remote }: Asker): Shown | undefined => {
  const { mode } = auth;
  if (mode === 'trusted-proxy' && !remote.isLocal) return undefined;
  for (const method of ['token', 'password'] as const) {
    const [given, secret] = [params.auth?.[method], auth[method]];
    if (mode !== 'trusted-proxy' && mode !== method) continue;
    if (given && secret && sameSecret(given, secret)) return { ok: true, method };
  }
  return undefined;
};

/** Older clients send it as `token` too. */
const hasDeviceToken = ({ params, role, row }: Asker): boolean => {
  const given = params.auth?.deviceToken ?? params.auth?.token;
  return params.device !== undefined && !!given && isToken(given, row?.roles[role]?.tokenHash);
};

const secretRefused = (mode: 'token' | 'password', { auth, device }: ConnectParams): Refusal => {
  const { token, deviceToken } = auth ?? {};
  if (deviceToken && (!auth?.[mode] || token === deviceToken)) {
    const message = device
      ? 'unauthorized: device token mismatch: it was rotated or revoked, or is of another device'
      : 'unauthorized: a device token counts only with the signature of its device';
    return refusal('AUTH_DEVICE_TOKEN_MISMATCH', message);
  }
  const name = mode === 'token' ? 'TOKEN' : 'PASSWORD';
  if (!auth?.[mode]) {
    const message = `unauthorized: send the gateway's ${mode} as auth.${mode}`;
    return refusal(`AUTH_${name}_MISSING`, message);
  }
  const message = `unauthorized: this is not the gateway's ${mode}`;
  return refusal(`AUTH_${name}_MISMATCH`, message, {
    canRetryWithDeviceToken: mode === 'token' && device !== undefined && !deviceToken,
  });
};

const refusal = (code: ConnectErrorCode, message: string, hint: object = {}): Refusal => {
  const { canRetryWithDeviceToken = false } = hint as { canRetryWithDeviceToken?: boolean };
  const recommendedNextStep = canRetryWithDeviceToken
    ? 'retry_with_device_token'
    : 'update_auth_credentials';
  return { ok: false, code, message, hint: { recommendedNextStep, canRetryWithDeviceToken } };
};

const USER = 'x-forwarded-user';

const proxied = (
  proxy: TrustedProxy | undefined,
  { isProxy, headers }: Remote,
): Shown | Refusal => {
  const review = { recommendedNextStep: 'review_auth_configuration' };
  if (!isProxy) {
    const message = 'unauthorized: this gateway is reached through its proxy only';
    return { ok: false, code: 'AUTH_UNAUTHORIZED', message, hint: review };
  }
  const { userHeader = USER, requiredHeaders = [], allowUsers } = proxy ?? {};
  const user = headerOf(headers, userHeader);
  const missing = [userHeader, ...requiredHeaders].find((name) => !headerOf(headers, name));
  if (user === undefined || missing !== undefined) {
    const message = `unauthorized: the proxy did not send the header ${missing}`;
    return { ok: false, code: 'AUTH_IDENTITY_HEADER_REQUIRED', message, hint: review };
  }
  if (allowUsers === undefined || allowUsers.includes(user)) {
    return { ok: true, method: 'trusted-proxy', user };
  }
  const message = 'unauthorized: gateway.auth.trustedProxy.allowUsers does not name this person';
  return { ok: false, code: 'AUTH_VERIFIED_USER_REQUIRED', message, hint: review };
};

const LOGIN = 'tailscale-user-login';

/**
 * Tailscale Serve forwards from this machine and writes the login beside the address; the daemon
 * says whose address that is.
 */
const ofTailnet = async (whois: Whois, { peer, headers }: Remote): Promise<Shown | Refusal> => {
  const login = headerOf(headers, LOGIN);
  const from = headerOf(headers, 'x-forwarded-for');
  if (!isLoopback(peer) || from === undefined) {
    return tailscaleRefused('PROXY_MISSING', 'the identity header did not come by Tailscale Serve');
  }
  if (login === undefined) {
    return tailscaleRefused('IDENTITY_MISSING', 'Tailscale Serve did not say who this is');
  }
  let owner: string | undefined;
  try {
    owner = await whois(from);
  } catch {
    return tailscaleRefused('WHOIS_FAILED', 'the Tailscale daemon did not say whose address it is');
  }
  if (owner?.toLowerCase() === login.toLowerCase()) {
    return { ok: true, method: 'tailscale', user: login };
  }
  return tailscaleRefused('IDENTITY_MISMATCH', 'the address is of another login than the header');
};

const tailscaleRefused = (
  what: 'PROXY_MISSING' | 'IDENTITY_MISSING' | 'WHOIS_FAILED' | 'IDENTITY_MISMATCH',
  why: string,
): Refusal =>
  refusal(
    `AUTH_TAILSCALE_${what}`,
    `unauthorized: ${why}; or send the gateway's token or password`,
  );
