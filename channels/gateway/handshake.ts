/**
 * The handshake (GW2, GW3): judges a `connect` request and says hello.
 *
 * Order of the tests: shape, protocol version, origin, lock-out, secret, role. A device identity is
 * accepted and not looked at yet: the shared secret alone decides.
 */
import { randomUUID } from 'node:crypto';
import { describeErrors } from '../../protocols/check.ts';
import {
  BUFFERED_BYTES_MAX,
  checkConnectParams,
  type ConnectErrorCode,
  type ConnectParams,
  FRAME_BYTES_MAX,
  type GatewayErrorShape,
  GatewayEvents,
  type HelloOk,
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_NODE_MIN,
  SCOPES,
  type Scope,
  TICK_INTERVAL_MS,
} from '../../protocols/gateway/index.ts';
import {
  type AuthFailures,
  checkSecret,
  type GatewayAuth,
  isLoopback,
  originAllowed,
} from './access.ts';
import type { Client, Connection } from './connection.ts';
import { type Door, OPERATOR } from './door.ts';
import { healthAtHello } from './methods/health.ts';
import { METHOD_NAMES } from './methods/index.ts';
import { mainSessionKey } from './session-key.ts';

/** What the HTTP upgrade said. */
export type Upgrade = { readonly origin: string | undefined; readonly host: string | undefined };

export type Greeting =
  | { readonly ok: true; readonly client: Client; readonly protocol: number }
  | { readonly ok: false; readonly error: GatewayErrorShape };

/** First event of every connection. */
export const challengeFrame = (nowMs: number): string =>
  JSON.stringify({
    type: 'event',
    event: 'connect.challenge',
    payload: { nonce: randomUUID(), ts: nowMs },
  });

export const greet = (
  door: Door,
  access: { readonly auth: GatewayAuth; readonly failures: AuthFailures },
  connection: Connection,
  upgrade: Upgrade,
  given: unknown,
): Greeting => {
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
  const { remoteAddress } = connection;
  if (!originAllowed({ ...upgrade, remoteAddress, mode: access.auth.mode })) {
    return refused('CONTROL_UI_ORIGIN_NOT_ALLOWED', `origin ${upgrade.origin} may not connect`);
  }
  const refusal = checkGuess(access, remoteAddress, door.clock.monotonicMs(), params);
  if (refusal) return refusal;
  const role = params.role ?? 'operator';
  if (role !== 'operator') {
    return refused('AUTH_SCOPE_MISMATCH', `role "${role}" is not served: connect as "operator"`);
  }
  const client: Client = {
    params,
    role,
    scopes: scopesFor(params.scopes),
    tenant: door.tenant,
    principal: OPERATOR,
    method: access.auth.mode,
    isLocal: isLoopback(remoteAddress),
    caps: new Set(params.caps),
    since: door.clock.wallMs(),
  };
  return { ok: true, client, protocol };
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

/** A locked-out IP is not even compared: else it could go on guessing. */
const checkGuess = (
  { auth, failures }: { auth: GatewayAuth; failures: AuthFailures },
  ip: string,
  nowMs: number,
  params: ConnectParams,
): Greeting | undefined => {
  if (auth.mode === 'none') return undefined;
  const lockedMs = failures.lockedForMs(ip, nowMs);
  if (lockedMs > 0) {
    const greeting = refused(
      'AUTH_RATE_LIMITED',
      `too many failed attempts: try again in ${Math.ceil(lockedMs / 1000)} s`,
      { recommendedNextStep: 'wait_then_retry' },
    );
    return {
      ok: false,
      error: { ...greeting.error, retryable: true, retryAfterMs: Math.ceil(lockedMs) },
    };
  }
  const refusal = checkSecret(auth, params.auth);
  if (refusal === undefined) {
    failures.forget(ip);
    return undefined;
  }
  failures.count(ip, nowMs);
  return refused(refusal.code, refusal.message, {
    recommendedNextStep: 'update_auth_credentials',
    canRetryWithDeviceToken: false,
  });
};

const refused = (code: ConnectErrorCode, message: string, details: object = {}) =>
  ({
    ok: false,
    error: { code: 'INVALID_REQUEST', message, details: { code, ...details } },
  }) as const;

/** What was asked for and exists; everything when nothing was asked for. */
const scopesFor = (asked: readonly string[] | undefined): readonly Scope[] =>
  asked === undefined || asked.length === 0
    ? SCOPES
    : SCOPES.filter((scope) => asked.includes(scope));

/** The answer to a good connect; `client` is already among the connected. */
export const helloOk = (
  door: Door,
  connection: Connection,
  client: Client,
  protocol: number,
): HelloOk => ({
  type: 'hello-ok',
  protocol,
  server: { version: door.version, connId: connection.id, bootId: door.bootId },
  features: { methods: [...METHOD_NAMES], events: Object.keys(GatewayEvents), capabilities: [] },
  snapshot: {
    presence: door.presence.entries(),
    health: healthAtHello(door),
    stateVersion: door.presence.stateVersion,
    uptimeMs: Math.round(door.clock.monotonicMs() - door.startedAt),
    sessionDefaults: {
      defaultAgentId: door.names.defaultAgentId,
      mainKey: door.names.mainKey,
      mainSessionKey: mainSessionKey(door.names, door.names.defaultAgentId),
      scope: 'per-sender',
    },
    authMode: door.authMode,
  },
  auth: { role: client.role, scopes: [...client.scopes] },
  policy: {
    maxPayload: FRAME_BYTES_MAX,
    maxBufferedBytes: BUFFERED_BYTES_MAX,
    tickIntervalMs: TICK_INTERVAL_MS,
  },
});
