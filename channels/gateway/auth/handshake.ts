/**
 * The handshake (GW2, GW3): judges a `connect` request and says hello.
 *
 * Order of the tests: shape, protocol version, role, origin, directness (mode `none`), lock-out,
 * credentials, signature of the device, pairing. Whoever fails before pairing leaves nothing behind
 * but a count.
 */
import { describeErrors } from '../../../protocols/check.ts';
import { defined } from '../../../protocols/defined.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../protocols/device.ts';
import { errorData } from '../../../protocols/errors.ts';
import {
  BUFFERED_BYTES_MAX,
  checkConnectParams,
  type ConnectErrorCode,
  type ConnectParams,
  FRAME_BYTES_MAX,
  type GatewayErrorShape,
  gatewayError,
  GatewayEvents,
  type HelloOk,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_NODE_MIN,
  TICK_INTERVAL_MS,
} from '../../../protocols/gateway/index.ts';
import type { Clock, Principal, System } from '../../../runtime/index.ts';
import { onlyDirect, originAllowed } from './access.ts';
import type { Attempt, AuthFailures } from './failed-attempts.ts';
import type { Client, Connection } from '../transport/connection.ts';
import { type Asker, identify, type Ledger, type Shown } from './credentials.ts';
import { deviceFault } from './device-auth.ts';
import { type TenantGateway, OPERATOR } from '../tenant/tenant-gateway.ts';
import type { TenantGateways } from '../tenant/tenant-gateways.ts';
import { METHOD_NAMES } from '../methods/index.ts';
import { admit, needsNobody } from './pairing.ts';
import { accountOf, notDirect, type Remote } from './client-address.ts';
import { mainSessionKey } from '../sessions/session-key.ts';

/** Told in `hello-ok`; OpenClaw's clients ask for models only where the first one stands. */
const CAPABILITIES = ['published-model-catalog'] as const;

/** What a gateway judges clients by. */
export type Gate = Ledger & {
  readonly failures: AuthFailures;
  readonly clock: Clock;
  readonly doors: Pick<TenantGateways, 'of'>;
  readonly rows: Pick<System['index'], 'get'>;
};

/** How a client came. */
export type Arrival = {
  readonly remote: Remote;
  /** of the challenge of this connection; good for one connect */
  readonly nonce: string;
} & Attempt;

export type Greeting =
  | {
      readonly ok: true;
      readonly client: Client;
      readonly protocol: number;
      /** made now, told once */
      readonly deviceToken?: string;
    }
  | { readonly ok: false; readonly error: GatewayErrorShape };

/** First event of every connection. */
export const challengeFrame = (nonce: string, nowMs: number): string =>
  JSON.stringify({ type: 'event', event: 'connect.challenge', payload: { nonce, ts: nowMs } });

/** Never rejects. A connection that ended meanwhile is the caller's to notice. */
export const greet = async (gate: Gate, arrival: Arrival, given: unknown): Promise<Greeting> => {
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
  const { mode } = gate.auth;
  if (!originAllowed({ origin, host, remoteAddress: remote.address, mode })) {
    return refused('CONTROL_UI_ORIGIN_NOT_ALLOWED', `origin ${origin} may not connect`);
  }
  const fault = mode === 'none' ? notDirect(remote) : undefined;
  if (fault !== undefined) {
    const hint = { recommendedNextStep: 'review_auth_configuration' };
    return refused('AUTH_UNAUTHORIZED', `unauthorized: ${onlyDirect(fault)}`, hint);
  }
  const rowIn = (tenant: string) =>
    params.device && gate.rows.get<DeviceRow>(DEVICES_INDEX, tenant, params.device.id);
  const asker: Asker = { params, role, remote, rowIn };
  try {
    const proved = await prove(gate, arrival, asker);
    return 'error' in proved ? proved : await enter(gate, asker, proved, protocol);
  } catch (thrown) {
    gate.doors.of(gate.home).log.warn({ err: thrown }, 'gateway: a client could not be looked up');
    return { ok: false, error: { ...gatewayError(errorData(thrown)), retryable: true } };
  }
};

/** Who it is. An account that is locked is judged at its turn. */
const prove = async (
  gate: Gate,
  { remote, nonce, ...attempt }: Arrival,
  asker: Asker,
): Promise<Shown | Extract<Greeting, { ok: false }>> => {
  const { failures, clock } = gate;
  const { params } = asker;
  const faultOf = () => params.device && deviceFault(params, params.device, nonce, clock.wallMs());
  const isApproved = isKnown(gate, asker) && faultOf() === undefined;
  const account = isApproved ? `device ${params.device?.id}` : accountOf(remote);
  if (!(await failures.turn(account, attempt))) return rateLimited(failures.lockedForMs(account));
  const shown = await identify(gate, asker);
  const fault = shown.ok ? faultOf() : shown;
  if (shown.ok && fault === undefined) return shown;
  const wasLocked = failures.lockedForMs(account) > 0;
  if (shown.ok || !NOTHING_SHOWN.has(shown.code)) failures.count(account);
  if (wasLocked) return rateLimited(failures.lockedForMs(account));
  return shown.ok
    ? refused(fault!.code, fault!.message)
    : refused(shown.code, shown.message, shown.hint);
};

/** Refusals of clients that have guessed nothing. */
const NOTHING_SHOWN: ReadonlySet<ConnectErrorCode> = new Set([
  'AUTH_TOKEN_MISSING',
  'AUTH_PASSWORD_MISSING',
]);

/** The client says to be a device that somebody has approved: it has failures of its own. */
const isKnown = ({ home, tenancy }: Gate, { params, rowIn }: Asker): boolean =>
  params.device !== undefined &&
  [home, ...(tenancy?.tenants ?? [])].some(
    (tenant) => Object.keys(rowIn(tenant)?.roles ?? {}).length > 0,
  );

/** What it may do. @throws TroupeError as `admit` */
const enter = async (
  { auth, doors }: Gate,
  { params, role, remote, rowIn }: Asker,
  shown: Shown,
  protocol: number,
): Promise<Greeting> => {
  const door = doors.of(shown.tenant);
  const row = rowIn(shown.tenant);
  const admitted = await admit(door, auth, { params, role, remote, row, shown });
  if (!admitted.ok) {
    const greeting = refused(admitted.code, admitted.message, admitted.details);
    return { ok: false, error: { ...greeting.error, code: 'NOT_PAIRED' } };
  }
  const { scopes, deviceToken, tokenHash } = admitted;
  const deviceId = params.device?.id;
  const client: Client = {
    params,
    role,
    scopes,
    tenant: door.tenant,
    principal: principalOf(shown, role, deviceId),
    method: shown.method,
    isLocal: remote.isLocal,
    needsNobody: needsNobody(auth, remote, shown),
    caps: new Set(params.caps),
    since: door.clock.wallMs(),
    ...defined({ deviceId, tokenHash }),
  };
  return { ok: true, client, protocol, ...defined({ deviceToken }) };
};

/** A person whom somebody vouches for, a device, or whoever has the shared secret. */
const principalOf = (
  { user }: Shown,
  role: Client['role'],
  deviceId: string | undefined,
): Principal => {
  if (user !== undefined && role === 'operator') return { sub: user, roles: [role] };
  return deviceId === undefined ? OPERATOR : { sub: `device:${deviceId}`, roles: [role] };
};

const rateLimited = (lockedMs: number): Extract<Greeting, { ok: false }> => {
  const greeting = refused(
    'AUTH_RATE_LIMITED',
    `too many failed attempts: try again in ${Math.ceil(lockedMs / 1000)} s`,
    { recommendedNextStep: 'wait_then_retry' },
  );
  return {
    ok: false,
    error: { ...greeting.error, retryable: true, retryAfterMs: Math.ceil(lockedMs) },
  };
};

const protocolFor = ({ minProtocol, maxProtocol, role, client }: ConnectParams) => {
  const oldest =
    role === 'node' || client.mode === 'probe' ? PROTOCOL_VERSION_NODE_MIN : PROTOCOL_VERSION;
  return maxProtocol >= oldest && minProtocol <= PROTOCOL_VERSION
    ? Math.min(maxProtocol, PROTOCOL_VERSION)
    : undefined;
};

const protocolMismatch = ({ minProtocol, maxProtocol }: ConnectParams): Greeting =>
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

/** The same for all clients of this program. */
const FEATURES = JSON.stringify({
  methods: METHOD_NAMES,
  events: Object.keys(GatewayEvents),
  capabilities: CAPABILITIES,
} satisfies Record<keyof HelloOk['features'], readonly string[]>);

/** A `HelloOk` as JSON, the answer to a good connect; `client` is among the connected already. */
export const helloOk = (
  door: TenantGateway,
  connection: Connection,
  { client, protocol, deviceToken }: Extract<Greeting, { ok: true }>,
): string => {
  // Who may not read is told what it needs to speak, and of nobody else.
  const { mayRead } = connection;
  const snapshot: Omit<HelloOk['snapshot'], 'presence'> = {
    health: mayRead ? door.health.atHello() : { ok: true },
    stateVersion: door.presence.stateVersion,
    uptimeMs: Math.round(door.clock.monotonicMs() - door.startedAt),
    sessionDefaults: {
      defaultAgentId: door.names.defaultAgentId,
      mainKey: door.names.mainKey,
      mainSessionKey: mainSessionKey(door.names, door.names.defaultAgentId),
      scope: 'per-sender',
    },
    authMode: door.authMode,
  };
  const hello: Omit<HelloOk, 'features' | 'snapshot'> = {
    type: 'hello-ok',
    protocol,
    server: { version: door.version, connId: connection.id, bootId: door.bootId },
    auth: {
      role: client.role,
      scopes: [...client.scopes],
      ...(deviceToken === undefined ? {} : { deviceToken, issuedAtMs: client.since }),
    },
    policy: {
      maxPayload: FRAME_BYTES_MAX,
      maxBufferedBytes: BUFFERED_BYTES_MAX,
      tickIntervalMs: TICK_INTERVAL_MS,
    },
  };
  const presence = mayRead ? door.presence.encoded() : '[]';
  const told = withMember(JSON.stringify(snapshot), 'presence', presence);
  return withMember(withMember(JSON.stringify(hello), 'features', FEATURES), 'snapshot', told);
};

/** A JSON object that has members, and one more, which is JSON already. */
const withMember = (object: string, name: string, value: string): string =>
  `${object.slice(0, -1)},"${name}":${value}}`;
