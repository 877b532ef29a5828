/**
 * The handshake of the gateway: event `connect.challenge`, request `connect`, response `hello-ok`
 * with a snapshot. A refused connect gets an error response with one of `CONNECT_ERROR_CODES` as
 * `details.code`; then the gateway closes with 1008.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../any-key.ts';
import { checker } from '../check.ts';
import { StateVersion } from './frames.ts';
import {
  AnyObject,
  closed,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  oneOf,
  Optional,
  Text,
} from './shapes.ts';

export const CLIENT_IDS = [
  'webchat-ui',
  'openclaw-control-ui',
  'openclaw-browser-copilot',
  'openclaw-tui',
  'webchat',
  'cli',
  'gateway-client',
  'openclaw-macos',
  'openclaw-linux',
  'openclaw-ios',
  'openclaw-watchos',
  'openclaw-android',
  'node-host',
  'openclaw-worker',
  'test',
  'fingerprint',
  'openclaw-probe',
] as const;
export const CLIENT_MODES = [
  'webchat',
  'cli',
  'ui',
  'backend',
  'node',
  'worker',
  'probe',
  'test',
] as const;
export const ROLES = ['operator', 'node', 'worker'] as const;
export type Role = (typeof ROLES)[number];
export const SCOPES = [
  'operator.read',
  'operator.write',
  'operator.admin',
  'operator.approvals',
  'operator.questions',
  'operator.pairing',
  'operator.talk',
  'operator.talk.secrets',
] as const;
export type Scope = (typeof SCOPES)[number];

/** `details.code` of a refused connect; the values of the published protocol. */
export const CONNECT_ERROR_CODES = [
  'AUTH_REQUIRED',
  'AUTH_UNAUTHORIZED',
  'AUTH_TOKEN_MISSING',
  'AUTH_TOKEN_MISMATCH',
  'AUTH_TOKEN_NOT_CONFIGURED',
  'AUTH_PASSWORD_MISSING',
  'AUTH_PASSWORD_MISMATCH',
  'AUTH_PASSWORD_NOT_CONFIGURED',
  'AUTH_DEVICE_TOKEN_MISMATCH',
  'AUTH_SCOPE_MISMATCH',
  'AUTH_RATE_LIMITED',
  'AUTH_TAILSCALE_IDENTITY_MISSING',
  'AUTH_TAILSCALE_PROXY_MISSING',
  'AUTH_TAILSCALE_WHOIS_FAILED',
  'AUTH_TAILSCALE_IDENTITY_MISMATCH',
  'AUTH_IDENTITY_HEADER_REQUIRED',
  'AUTH_VERIFIED_USER_REQUIRED',
  'PROTOCOL_MISMATCH',
  'DEVICE_IDENTITY_REQUIRED',
  'CONTROL_UI_ORIGIN_NOT_ALLOWED',
  'DEVICE_AUTH_INVALID',
  'DEVICE_AUTH_DEVICE_ID_MISMATCH',
  'DEVICE_AUTH_SIGNATURE_EXPIRED',
  'DEVICE_AUTH_NONCE_REQUIRED',
  'DEVICE_AUTH_NONCE_MISMATCH',
  'DEVICE_AUTH_SIGNATURE_INVALID',
  'DEVICE_AUTH_PUBLIC_KEY_INVALID',
  'PAIRING_REQUIRED',
] as const;
export type ConnectErrorCode = (typeof CONNECT_ERROR_CODES)[number];

/** Payload of the event `connect.challenge`; the device signs the nonce. */
export const ConnectChallenge = Type.Object({ nonce: NonEmpty, ts: Count });
export type ConnectChallenge = Static<typeof ConnectChallenge>;

const ClientIdentity = Type.Object({
  id: NonEmpty,
  version: NonEmpty,
  platform: NonEmpty,
  mode: oneOf(CLIENT_MODES),
  displayName: Optional(NonEmpty),
  buildId: Optional(NonEmpty),
  deviceFamily: Optional(NonEmpty),
  modelIdentifier: Optional(NonEmpty),
  timeZone: Optional(NonEmpty),
  instanceId: Optional(NonEmpty),
});

/** An Ed25519 identity; `id` is the hex SHA-256 of the raw public key. */
const DeviceIdentity = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  publicKey: NonEmpty,
  signature: NonEmpty,
  signedAt: Count,
  nonce: NonEmpty,
});

const ConnectAuth = Type.Object({
  token: Optional(Text),
  password: Optional(Text),
  deviceToken: Optional(Text),
  bootstrapToken: Optional(Text),
});

/**
 * Extra fields are allowed at every level, and any client id, so that newer and third-party clients
 * can connect. Other OpenClaw fields are ignored.
 */
export const ConnectParams = Type.Object({
  minProtocol: Type.Integer({ minimum: 1 }),
  maxProtocol: Type.Integer({ minimum: 1 }),
  client: ClientIdentity,
  role: Optional(NonEmpty),
  scopes: Optional(Type.Array(NonEmpty)),
  caps: Optional(Type.Array(NonEmpty)),
  commands: Optional(Type.Array(NonEmpty)),
  permissions: Optional(Type.Record(AnyKey, Type.Boolean())),
  pathEnv: Optional(Text),
  device: Optional(DeviceIdentity),
  auth: Optional(ConnectAuth),
  locale: Optional(Text),
  userAgent: NoEffect(Text, 'a client names itself by its id and version'),
});
export type ConnectParams = Static<typeof ConnectParams>;
/** Errors never contain values of `auth` and `device`. */
export const checkConnectParams = checker(ConnectParams, { secret: /^\/(auth|device)/ });

export const PresenceEntry = Type.Object(
  {
    ts: Count,
    host: Optional(NonEmpty),
    ip: Optional(NonEmpty),
    version: Optional(NonEmpty),
    platform: Optional(NonEmpty),
    deviceFamily: Optional(NonEmpty),
    modelIdentifier: Optional(NonEmpty),
    timeZone: Optional(NonEmpty),
    mode: Optional(NonEmpty),
    lastInputSeconds: Optional(Count),
    reason: Optional(NonEmpty),
    tags: Optional(Type.Array(NonEmpty)),
    text: Optional(Text),
    onlineSince: Optional(Count),
    lastActivityAt: Optional(Count),
    deviceId: Optional(NonEmpty),
    roles: Optional(Type.Array(NonEmpty)),
    scopes: Optional(Type.Array(NonEmpty)),
    instanceId: Optional(NonEmpty),
  },
  closed,
);
export type PresenceEntry = Static<typeof PresenceEntry>;

const SessionsSummary = Type.Object(
  {
    path: Text,
    count: Count,
    recent: Type.Array(
      Type.Object(
        {
          key: Text,
          updatedAt: Nullable(Count),
          /** milliseconds */
          age: Nullable(Count),
        },
        closed,
      ),
    ),
  },
  closed,
);

const Heartbeat = Type.Object(
  {
    enabled: Type.Boolean(),
    every: Text,
    everyMs: Nullable(Count),
    prompt: Text,
    target: Text,
    ackMaxChars: Count,
  },
  closed,
);

/** Response of `health`, payload of the event `health`, and part of the snapshot. */
export const Health = Type.Object(
  {
    ok: Optional(Type.Literal(true)),
    ts: Optional(Count),
    durationMs: Optional(Count),
    channels: Optional(AnyObject),
    channelOrder: Optional(Type.Array(Text)),
    channelLabels: Optional(Type.Record(AnyKey, Text)),
    heartbeatSeconds: Optional(Count),
    defaultAgentId: Optional(Text),
    agents: Optional(
      Type.Array(
        Type.Object(
          {
            agentId: Text,
            name: Optional(Text),
            isDefault: Type.Boolean(),
            heartbeat: Heartbeat,
            sessions: SessionsSummary,
          },
          closed,
        ),
      ),
    ),
    sessions: Optional(SessionsSummary),
  },
  closed,
);
export type Health = Static<typeof Health>;

export const Snapshot = Type.Object(
  {
    presence: Type.Array(PresenceEntry),
    health: Health,
    stateVersion: StateVersion,
    uptimeMs: Count,
    configPath: Optional(NonEmpty),
    stateDir: Optional(NonEmpty),
    sessionDefaults: Optional(
      Type.Object(
        {
          defaultAgentId: NonEmpty,
          mainKey: NonEmpty,
          mainSessionKey: NonEmpty,
          modelConfigured: Optional(Type.Boolean()),
          scope: Optional(NonEmpty),
        },
        closed,
      ),
    ),
    authMode: Optional(oneOf(['none', 'token', 'password', 'trusted-proxy'])),
    appliedConfigHash: Optional(Nullable(NonEmpty)),
    suspension: Optional(
      Type.Object({ phase: oneOf(['accepting', 'preparing', 'draining', 'prepared']) }, closed),
    ),
  },
  closed,
);
export type Snapshot = Static<typeof Snapshot>;

export const HelloOk = Type.Object(
  {
    type: Type.Literal('hello-ok'),
    protocol: Type.Integer({ minimum: 1 }),
    server: Type.Object(
      {
        version: NonEmpty,
        connId: NonEmpty,
        buildId: Optional(NonEmpty),
        bootId: Optional(NonEmpty),
      },
      closed,
    ),
    features: Type.Object(
      {
        methods: Type.Array(NonEmpty),
        events: Type.Array(NonEmpty),
        capabilities: Optional(Type.Array(NonEmpty)),
      },
      closed,
    ),
    snapshot: Snapshot,
    auth: Type.Object(
      {
        role: NonEmpty,
        scopes: Type.Array(NonEmpty),
        deviceToken: Optional(NonEmpty),
        issuedAtMs: Optional(Count),
      },
      closed,
    ),
    policy: Type.Object(
      {
        maxPayload: Type.Integer({ minimum: 1 }),
        maxBufferedBytes: Type.Integer({ minimum: 1 }),
        tickIntervalMs: Type.Integer({ minimum: 1 }),
        attachments: Optional(
          Type.Object(
            { maxBytes: Type.Integer({ minimum: 1 }), maxImageBytes: Type.Integer({ minimum: 1 }) },
            closed,
          ),
        ),
      },
      closed,
    ),
  },
  closed,
);
export type HelloOk = Static<typeof HelloOk>;
