/**
 * Checks the credentials of a client: the shared secret, a device token, the user that a proxy
 * authenticated, or a Tailscale login. device-auth.ts checks the device's signature, and pairing.ts
 * determines the client's rights.
 *
 * Invariants: secrets are compared in constant time. An identity in a header counts only if a
 * configured proxy sent it, or the Tailscale daemon of this machine confirms it.
 */
import { isIP } from 'node:net';
import type { DeviceRole, DeviceRow } from '../../../protocols/device.ts';
import type { ConnectErrorCode, ConnectParams } from '../../../protocols/gateway/index.ts';
import { DEFAULT_TENANT } from '../../../protocols/address.ts';
import type { Tenancy } from '../../tenancy.ts';
import { type GatewayAuth, isLoopback, secretsEqual } from './access.ts';
import type { AuthMethod } from '../transport/connection.ts';
import { isToken } from '../../../operations/devices/device-tokens.ts';
import { headerOf, type Remote } from './client-address.ts';
import type { Whois } from './tailscale.ts';

export type Identity = {
  readonly ok: true;
  readonly method: AuthMethod;
  /** the client's tenant */
  readonly tenant: string;
  /** the user that a proxy or the tailnet names: `proxy:USER`, `tailscale:LOGIN` */
  readonly user?: string;
};
export type Refusal = {
  readonly ok: false;
  readonly code: ConnectErrorCode;
  readonly message: string;
  /** recommended next steps, for the error's `details` */
  readonly hint?: object;
};

export type ConnectingClient = {
  readonly params: ConnectParams;
  readonly role: DeviceRole;
  readonly remote: Remote;
  /** the row of the device that the client claims to be, in a tenant */
  readonly rowIn: (tenant: string) => DeviceRow | undefined;
};

/** The settings that credentials are checked against. */
export type CredentialRules = {
  readonly auth: GatewayAuth;
  readonly whois: Whois;
  /** maps principals and tokens to tenants; without it all clients belong to `home` */
  readonly tenancy: Tenancy | undefined;
  /** the tenant of principals that are not mapped */
  readonly home: string;
};

/** Never rejects. */
export const identify = async (
  rules: CredentialRules,
  client: ConnectingClient,
): Promise<Identity | Refusal> => {
  const { auth } = rules;
  const { params, remote } = client;
  if (auth.mode === 'none')
    return { ok: true, method: 'none', tenant: tenantOf(rules, deviceName(params)) };
  const known = sharedSecretIdentity(rules, client) ?? deviceTokenIdentity(rules, client);
  if (known !== undefined) return known;
  if (auth.mode === 'trusted-proxy') return proxyIdentity(rules, remote);
  const { token, password, deviceToken } = params.auth ?? {};
  const isForwarded = remote.headers['x-forwarded-for'] !== undefined;
  const mayBeTailnet = isForwarded || headerOf(remote.headers, LOGIN) !== undefined;
  if (auth.allowTailscale && mayBeTailnet && !token && !password && !deviceToken) {
    return tailnetIdentity(rules, remote);
  }
  return secretRefused(auth.mode, params);
};

/** @param name the principal; undefined when the credential names none */
const tenantOf = ({ tenancy, home }: CredentialRules, name: string | undefined): string => {
  const tenant = name === undefined ? undefined : tenancy?.ofPrincipal(name);
  return tenant === undefined || tenant === DEFAULT_TENANT ? home : tenant;
};

const deviceName = ({ device }: ConnectParams): string | undefined =>
  device === undefined ? undefined : `device:${device.id}`;

/**
 * Accepts the gateway's secret or a tenant's token. Beside a proxy it is accepted only on this
 * machine, for access when the proxy fails.
 */
const sharedSecretIdentity = (
  rules: CredentialRules,
  { params, remote }: ConnectingClient,
): Identity | undefined => {
  const { auth, tenancy } = rules;
  const { mode } = auth;
  if (mode === 'trusted-proxy' && !remote.isLocal) return undefined;
  for (const method of ['token', 'password'] as const) {
    const [given, secret] = [params.auth?.[method], auth[method]];
    if (mode !== 'trusted-proxy' && mode !== method) continue;
    if (given && secret && secretsEqual(given, secret)) {
      return { ok: true, method, tenant: tenantOf(rules, deviceName(params)) };
    }
  }
  const token = params.auth?.token;
  const tenant = token ? tenancy?.ofToken(token) : undefined;
  return tenant === undefined ? undefined : { ok: true, method: 'token', tenant };
};

/**
 * Accepts the device's token, in any tenant that approved the device. Older clients send it as
 * `token`.
 */
const deviceTokenIdentity = (
  { tenancy, home }: CredentialRules,
  client: ConnectingClient,
): Identity | undefined => {
  const { params, role, rowIn } = client;
  const given = params.auth?.deviceToken ?? params.auth?.token;
  if (params.device === undefined || !given) return undefined;
  const tenant = [home, ...(tenancy?.tenants ?? [])].find((each) =>
    isToken(given, rowIn(each)?.roles[role]?.tokenHash),
  );
  return tenant === undefined ? undefined : { ok: true, method: 'device-token', tenant };
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

const proxyIdentity = (
  rules: CredentialRules,
  { isProxy, headers }: Remote,
): Identity | Refusal => {
  const review = { recommendedNextStep: 'review_auth_configuration' };
  if (!isProxy) {
    const message = 'unauthorized: this gateway is reached through its proxy only';
    return { ok: false, code: 'AUTH_UNAUTHORIZED', message, hint: review };
  }
  const { userHeader = USER, requiredHeaders = [], allowUsers } = rules.auth.trustedProxy ?? {};
  const user = headerOf(headers, userHeader);
  const missing = [userHeader, ...requiredHeaders].find((name) => !headerOf(headers, name));
  if (user === undefined || missing !== undefined) {
    const message = `unauthorized: the proxy did not send the header ${missing}`;
    return { ok: false, code: 'AUTH_IDENTITY_HEADER_REQUIRED', message, hint: review };
  }
  if (allowUsers === undefined || allowUsers.includes(user)) {
    return verifiedIdentity(rules, 'trusted-proxy', `proxy:${user}`);
  }
  const message = 'unauthorized: gateway.auth.trustedProxy.allowUsers does not contain this user';
  return { ok: false, code: 'AUTH_VERIFIED_USER_REQUIRED', message, hint: review };
};

const verifiedIdentity = (rules: CredentialRules, method: AuthMethod, user: string): Identity => ({
  ok: true,
  method,
  user,
  tenant: tenantOf(rules, user),
});

const LOGIN = 'tailscale-user-login';

/**
 * Tailscale Serve forwards from this machine and adds the address and login. The daemon confirms
 * which login owns the address.
 */
const tailnetIdentity = async (
  rules: CredentialRules,
  { peer, headers }: Remote,
): Promise<Identity | Refusal> => {
  const login = headerOf(headers, LOGIN);
  const from = headerOf(headers, 'x-forwarded-for');
  // Only a valid address is passed to the program as an argument.
  if (!isLoopback(peer) || from === undefined || isIP(from) === 0) {
    return tailscaleRefused('PROXY_MISSING', 'the identity header did not come by Tailscale Serve');
  }
  if (login === undefined) {
    return tailscaleRefused('IDENTITY_MISSING', 'Tailscale Serve did not say who this is');
  }
  let owner: string | undefined;
  try {
    owner = await rules.whois(from);
  } catch {
    return tailscaleRefused('WHOIS_FAILED', 'the Tailscale daemon did not say whose address it is');
  }
  if (owner?.toLowerCase() === login.toLowerCase()) {
    return verifiedIdentity(rules, 'tailscale', `tailscale:${login.toLowerCase()}`);
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
