/**
 * The handshake: checks a `connect` request.
 *
 * Order of the checks: shape, protocol version, role, origin, no proxy in between (mode `none`),
 * lockout, credentials, device signature, pairing. A client that fails before pairing leaves no
 * state except a failure count.
 */
import { describeErrors } from '../../../protocols/check.ts';
import { defined } from '../../../protocols/defined.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../protocols/device.ts';
import { errorData } from '../../../protocols/errors.ts';
import {
  checkConnectParams,
  type ConnectErrorCode,
  type ConnectParams,
  type GatewayErrorShape,
  gatewayError,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_NODE_MIN,
} from '../../../protocols/gateway/index.ts';
import type { Clock, Principal, System } from '../../../runtime/index.ts';
import { onlyDirect, originAllowed } from './access.ts';
import type { Attempt, AuthFailures } from './failed-attempts.ts';
import type { Client } from '../transport/connection.ts';
import {
  type ConnectingClient,
  identify,
  type CredentialRules,
  type Identity,
} from './credentials.ts';
import { deviceFault } from './device-auth.ts';
import type { Logger } from '../log.ts';
import { admit, isApprovedAutomatically } from './pairing.ts';
import { accountOf, whyNotDirect, type Remote } from './client-address.ts';

/** All clients that present the shared secret without a device act as this principal. */
export const OPERATOR: Principal = { sub: 'operator', roles: ['operator'] };

/** What a gateway checks clients against. */
export type HandshakeContext = CredentialRules & {
  readonly failures: AuthFailures;
  readonly clock: Clock;
  readonly system: System;
  readonly log: Logger;
};

/** Where a `connect` request came from. */
export type ConnectOrigin = {
  readonly remote: Remote;
  /** of this connection's challenge; valid for one connect */
  readonly nonce: string;
} & Attempt;

/** An accepted `connect` request. */
export type Accepted = {
  readonly ok: true;
  readonly client: Client;
  readonly protocol: number;
  /** a new token; it is sent only here */
  readonly deviceToken?: string;
};

export type ConnectResult = Accepted | { readonly ok: false; readonly error: GatewayErrorShape };

/** The first event of every connection. */
export const challengeFrame = (nonce: string, nowMs: number): string =>
  JSON.stringify({ type: 'event', event: 'connect.challenge', payload: { nonce, ts: nowMs } });

/** Never rejects. The caller checks whether the connection ended in the meantime. */
export const handleConnect = async (
  context: HandshakeContext,
  arrival: ConnectOrigin,
  given: unknown,
): Promise<ConnectResult> => {
  const checked = checkConnectParams(given);
  if (!checked.ok) {
    const message = `invalid connect params: ${describeErrors(checked.errors)}`;
    return {
      ok: false,
      error: { code: 'INVALID_REQUEST', message, details: { errors: checked.errors } },
    };
  }
  const params = checked.value;
  const protocol = protocolFor(params);
  if (protocol === undefined) return protocolMismatch(params);
  const { role = 'operator' } = params;
  if (role !== 'operator' && role !== 'node') {
    return refused('AUTH_SCOPE_MISMATCH', `role ${role.slice(0, 64)} is not served`);
  }
  const { remote } = arrival;
  const { origin, host } = remote.headers;
  const { mode } = context.auth;
  if (!originAllowed({ origin, host, remoteAddress: remote.address, mode })) {
    return refused('CONTROL_UI_ORIGIN_NOT_ALLOWED', `origin ${origin} may not connect`);
  }
  const fault = mode === 'none' ? whyNotDirect(remote) : undefined;
  if (fault !== undefined) {
    const hint = { recommendedNextStep: 'review_auth_configuration' };
    return refused('AUTH_UNAUTHORIZED', `unauthorized: ${onlyDirect(fault)}`, hint);
  }
  const rowIn = (tenant: string) =>
    params.device && context.system.index.get<DeviceRow>(DEVICES_INDEX, tenant, params.device.id);
  const client: ConnectingClient = { params, role, remote, rowIn };
  try {
    const proved = await authenticate(context, arrival, client);
    return 'error' in proved ? proved : await authorizeClient(context, client, proved, protocol);
  } catch (thrown) {
    context.log.warn({ err: thrown }, 'gateway: a client could not be looked up');
    return { ok: false, error: { ...gatewayError(errorData(thrown)), retryable: true } };
  }
};

/** Identifies the client. A locked account waits for its turn. */
const authenticate = async (
  context: HandshakeContext,
  { remote, nonce, ...attempt }: ConnectOrigin,
  client: ConnectingClient,
): Promise<Identity | Extract<ConnectResult, { ok: false }>> => {
  const { failures, clock } = context;
  const { params } = client;
  const faultOf = () => params.device && deviceFault(params, params.device, nonce, clock.wallMs());
  const isApproved = isApprovedDevice(context, client) && faultOf() === undefined;
  const account = isApproved ? `device ${params.device?.id}` : accountOf(remote);
  if (!(await failures.turn(account, attempt))) return rateLimited(failures.lockedForMs(account));
  const shown = await identify(context, client);
  const fault = shown.ok ? faultOf() : shown;
  if (shown.ok && fault === undefined) return shown;
  const wasLocked = failures.lockedForMs(account) > 0;
  if (shown.ok || !NO_CREDENTIALS.has(shown.code)) failures.count(account);
  if (wasLocked) return rateLimited(failures.lockedForMs(account));
  return shown.ok
    ? refused(fault!.code, fault!.message)
    : refused(shown.code, shown.message, shown.hint);
};

/** Refusals that do not count as wrong guesses. */
const NO_CREDENTIALS: ReadonlySet<ConnectErrorCode> = new Set([
  'AUTH_TOKEN_MISSING',
  'AUTH_PASSWORD_MISSING',
]);

/** An approved device has a failure count of its own. */
const isApprovedDevice = (
  { home, tenancy }: HandshakeContext,
  { params, rowIn }: ConnectingClient,
): boolean =>
  params.device !== undefined &&
  [home, ...(tenancy?.tenants ?? [])].some(
    (tenant) => Object.keys(rowIn(tenant)?.roles ?? {}).length > 0,
  );

/** Determines the client's rights. @throws TroupeError as `admit` */
const authorizeClient = async (
  { auth, system, clock }: HandshakeContext,
  { params, role, remote, rowIn }: ConnectingClient,
  shown: Identity,
  protocol: number,
): Promise<ConnectResult> => {
  const { tenant } = shown;
  const row = rowIn(tenant);
  const admitted = await admit({ system, tenant, clock }, auth, {
    params,
    role,
    remote,
    row,
    shown,
  });
  if (!admitted.ok) {
    const result = refused(admitted.code, admitted.message, admitted.details);
    return { ok: false, error: { ...result.error, code: 'NOT_PAIRED' } };
  }
  const { scopes, deviceToken, tokenHash } = admitted;
  const deviceId = params.device?.id;
  const client: Client = {
    params,
    role,
    scopes,
    tenant,
    principal: principalOf(shown, role, deviceId),
    method: shown.method,
    isLocal: remote.isLocal,
    isApprovedAutomatically: isApprovedAutomatically(auth, remote, shown),
    caps: new Set(params.caps),
    since: clock.wallMs(),
    ...defined({ deviceId, tokenHash }),
  };
  return { ok: true, client, protocol, ...defined({ deviceToken }) };
};

/** A user whom a proxy authenticated, a device, or the holder of the shared secret. */
const principalOf = (
  { user }: Identity,
  role: Client['role'],
  deviceId: string | undefined,
): Principal => {
  if (user !== undefined && role === 'operator') return { sub: user, roles: [role] };
  return deviceId === undefined ? OPERATOR : { sub: `device:${deviceId}`, roles: [role] };
};

const rateLimited = (lockedMs: number): Extract<ConnectResult, { ok: false }> => {
  const result = refused(
    'AUTH_RATE_LIMITED',
    `too many failed attempts: try again in ${Math.ceil(lockedMs / 1000)} s`,
    { recommendedNextStep: 'wait_then_retry' },
  );
  return {
    ok: false,
    error: { ...result.error, retryable: true, retryAfterMs: Math.ceil(lockedMs) },
  };
};

const protocolFor = ({ minProtocol, maxProtocol, role, client }: ConnectParams) => {
  const oldest =
    role === 'node' || client.mode === 'probe' ? PROTOCOL_VERSION_NODE_MIN : PROTOCOL_VERSION;
  return maxProtocol >= oldest && minProtocol <= PROTOCOL_VERSION
    ? Math.min(maxProtocol, PROTOCOL_VERSION)
    : undefined;
};

const protocolMismatch = ({ minProtocol, maxProtocol }: ConnectParams): ConnectResult =>
  refused(
    'PROTOCOL_MISMATCH',
    `protocol mismatch: this gateway speaks ${PROTOCOL_VERSION}, the client ${minProtocol} to ${maxProtocol}`,
    { expectedProtocol: PROTOCOL_VERSION },
  );

const refused = (code: ConnectErrorCode, message: string, details: object = {}) =>
  ({
    ok: false,
    error: { code: 'INVALID_REQUEST', message, details: { code, ...details } },
  }) as const;
