/**
 * Device: a program with an Ed25519 identity that users approve (pairing). The messages that entry
 * points send to a device actor, and what it publishes to the gateways; its row is in
 * device-row.ts. The address is `{tenant}/device/{deviceId}`.
 *
 * A device is approved per role: by a user, or because it connects from this machine with the right
 * secret. A `node` can also execute commands. Its actor invokes the approved commands through the
 * gateway to which the node is connected, and queues items while the node is disconnected.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import {
  DEVICE_ROLES,
  DeviceFaceSchema,
  type DeviceRole,
  NodeSurfaceSchema,
  type PairingReason,
} from './device-row.ts';
import { escapeToken } from './subjects.ts';

export * from './device-row.ts';

/** Hex SHA-256 of the raw 32-byte public key. */
export const DEVICE_ID = /^[0-9a-f]{64}$/;
/** A pairing request expires after this time. */
export const PAIRING_MS = 300_000;
/**
 * Maximum number of devices of a tenant. Entry points count rows, so concurrent requests may exceed
 * it.
 */
export const DEVICES_MAX = 10_000;
/** Maximum number of unapproved devices, in total and per IP address; more are refused. */
export const STRANGERS_MAX = 100;
export const STRANGERS_PER_IP_MAX = 25;
/** An unapproved device is removed this long after its last request. */
export const UNPAIRED_RETENTION_MS = 3_600_000;

/** Time limit of a command, from the request to the device's answer. */
export const INVOKE_MS_DEFAULT = 30_000;
export const INVOKE_MS_MAX = 600_000;
/** Maximum number of unanswered commands per device. */
export const INVOCATIONS_MAX = 64;
/** Completed invocations that are kept to answer repeated requests, and for how long. */
export const INVOCATIONS_KEPT = 100;
export const INVOCATION_KEPT_MS = 600_000;
/**
 * A command that no gateway accepts is published again at this interval, this many times; then the
 * device counts as disconnected.
 */
export const DELIVER_AGAIN_MS = 1_000;
export const DELIVERIES_MAX = 3;
/** Maximum number of callers that wait for one invocation. */
export const ASKERS_MAX = 8;
/**
 * Total characters per device: parameters of unanswered commands, and stored answers. Each turn of
 * a device writes all of them, so the limits are a small multiple of the largest one. Of an older
 * answer only its completion is stored.
 */
export const PENDING_CHARACTERS_MAX = 524_288;
export const KEPT_CHARACTERS_MAX = 131_072;
/**
 * Characters of the parameters, and of an answer stored in the actor; a longer answer is a file
 * (`Payload`).
 */
export const PARAMS_CHARACTERS_MAX = 262_144;
export const PAYLOAD_CHARACTERS_MAX = 32_768;

/** Limits of the queue of a disconnected device, and how long an item is kept. */
export const WAITING_MAX = 100;
export const WAITING_CHARACTERS_MAX = 262_144;
export const WAITING_MS_DEFAULT = 3_600_000;
export const WAITING_MS_MIN = 1_000;
export const WAITING_MS_MAX = 86_400_000;

const closed = { additionalProperties: false } as const;
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Words = (maxItems: number) => Type.Array(Text(200), { maxItems });
const Id = Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,128}$' });

const Role = Type.Union(DEVICE_ROLES.map((role) => Type.Literal(role)));

// ---- from entry points

/**
 * Requests a role and scopes. `approved`: the entry point may approve by itself (this machine and
 * the right secret), and the device has no other role. Reply: DeviceAsked. If it is sent again
 * while pending, the request stays the same and its time limit restarts.
 */
export const DeviceAskSchema = Type.Object(
  {
    type: Type.Literal('device.ask'),
    /** base64url of the raw key; must match the address */
    publicKey: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
    role: Role,
    scopes: Words(16),
    face: DeviceFaceSchema,
    approved: Type.Optional(Type.Boolean()),
  },
  closed,
);
export type DeviceAsk = Static<typeof DeviceAskSchema>;
export type DeviceAsked =
  | { readonly state: 'paired' }
  | { readonly state: 'pending'; readonly requestId: string; readonly reason: PairingReason };

/**
 * A user's decision about a request, from an entry point, by a principal with the role `operator`;
 * else FORBIDDEN. Reply: DeviceRow; NOT_FOUND when the request does not exist, is decided or has
 * expired.
 */
export type DeviceApprove = { readonly type: 'device.approve'; readonly requestId: string };
export type DeviceReject = { readonly type: 'device.reject'; readonly requestId: string };
/** Removes the device with its tokens and its queue. Reply: { removed: deviceId }. */
export type DeviceRemove = { readonly type: 'device.remove' };
/** Reply: DeviceRow. */
export type DeviceRename = { readonly type: 'device.rename'; readonly name: string };

/**
 * Records a new token for an approved role: the actor stores its SHA-256 (hex). With `replace` the
 * new token replaces and revokes the current one; otherwise an existing token is kept. `scopes`
 * narrows the token (`tokenScopes`). Reply: { taken: boolean }; NOT_FOUND without the role.
 * Replacing a token requires the role `operator`.
 */
export type DeviceToken = {
  readonly type: 'device.token';
  readonly role: DeviceRole;
  readonly hash: string;
  readonly replace?: boolean;
  readonly scopes?: readonly string[];
};
/** Revokes the token; the role stays. Reply: DeviceRow. */
export type DeviceRevoke = { readonly type: 'device.revoke'; readonly role: DeviceRole };

/**
 * A node connected and reports what it can do. `approved` as in DeviceAsk: its commands need no
 * approval. A newer connection replaces an older one. Reply: DeviceLinked. The actor then notifies
 * the gateway of queued items.
 */
export const DeviceOnlineSchema = Type.Object(
  {
    type: Type.Literal('device.online'),
    gateway: Id,
    connId: Id,
    surface: NodeSurfaceSchema,
    face: DeviceFaceSchema,
    approved: Type.Optional(Type.Boolean()),
    /**
     * the node answers a repeated command from its records, so the actor may send an interrupted
     * one again
     */
    replays: Type.Optional(Type.Boolean()),
  },
  closed,
);
export type DeviceOnline = Static<typeof DeviceOnlineSchema>;
export type DeviceLinked = {
  readonly surface: 'approved' | 'pending';
  /** of the request to approve its commands, while it is pending */
  readonly requestId?: string;
};
/**
 * That connection ended; any other connection is ignored. Reply: { offline: boolean }. A gateway
 * that receives `offline` for a connection that is still open (the node accepted a command too
 * late) sends `device.online` again.
 */
export type DeviceOffline = { readonly type: 'device.offline'; readonly connId: string };

/** A user's decision about the commands of a node. Reply: DeviceRow; NOT_FOUND as for requests. */
export type SurfaceApprove = {
  readonly type: 'device.surface.approve';
  readonly requestId: string;
};
export type SurfaceReject = { readonly type: 'device.surface.reject'; readonly requestId: string };

/** An answer; a long one is a file of the tenant, referred to by its SHA-256. */
export type Payload =
  | { readonly json: string }
  | { readonly file: string; readonly characters: number };

/**
 * Invokes a command of a node. `id` is the caller's idempotency key: the same id is the same
 * invocation and returns its answer; CONFLICT when command or parameters differ.
 *
 * Reply when the node has answered: InvocationDone, or the node's error. Errors: NOT_FOUND (no such
 * command), FORBIDDEN (not approved, not permitted), UNAVAILABLE (disconnected, or lost before the
 * answer), DEADLINE_EXCEEDED, RATE_LIMIT_EXCEEDED, INVALID_ARGUMENT.
 *
 * UNAVAILABLE and DEADLINE_EXCEEDED have `details.outcome`. `none`: the node never received the
 * command, and the same id starts it again. `unknown`: the node may have executed it, and the same
 * id returns the node's answer if it has arrived since. `done`: it was answered, and the answer is
 * no longer stored.
 *
 * The actor checks only that the parameters are JSON. The caller's entry point or tool validates
 * them against the command's schema, which may take longer than a turn allows. Approval fields of
 * `system.run` are removed.
 */
export const DeviceInvokeSchema = Type.Object(
  {
    type: Type.Literal('device.invoke'),
    id: Id,
    command: Text(100),
    paramsJson: Type.String({ maxLength: PARAMS_CHARACTERS_MAX }),
    timeoutMs: Type.Integer({ minimum: 1, maximum: INVOKE_MS_MAX }),
    /** where the run that needs it is, for the device's own prompts */
    sessionKey: Type.Optional(Text(512)),
  },
  closed,
);
export type DeviceInvoke = Static<typeof DeviceInvokeSchema>;
export type InvocationDone = { readonly payload: Payload | null };

/**
 * The gateway is about to write the command to the node's connection, and does so only if the reply
 * is { taken: true }. Therefore `outcome: none` is correct even if the gateway crashes. Reply: {
 * taken: boolean }; false when no caller waits any more or the command belongs to another
 * connection. A repeat from the same connection is true again: a gateway writes one id once per
 * connection.
 */
export type DeviceTaken = {
  readonly type: 'device.taken';
  readonly id: string;
  readonly connId: string;
};
/** The node's answer. The first one counts. Reply: { taken: boolean }. */
export type DeviceResult = {
  readonly type: 'device.result';
  readonly id: string;
  readonly connId: string;
  readonly payload?: Payload;
  /** instead of a payload: the error */
  readonly error?: ErrorData;
};

/**
 * Queues an item for a device that may be disconnected; the device fetches it after it connects.
 * The same `itemId` is the same item. Reply: { itemId, waiting }; RATE_LIMIT_EXCEEDED above
 * WAITING_MAX or WAITING_CHARACTERS_MAX; FORBIDDEN when it is not approved as a node.
 */
export const DeviceEnqueueSchema = Type.Object(
  {
    type: Type.Literal('device.enqueue'),
    itemId: Id,
    kind: Text(64),
    payloadJson: Type.Optional(Type.String({ maxLength: PAYLOAD_CHARACTERS_MAX })),
    priority: Type.Union([Type.Literal('high'), Type.Literal('normal'), Type.Literal('low')]),
    expiresInMs: Type.Integer({ minimum: WAITING_MS_MIN, maximum: WAITING_MS_MAX }),
  },
  closed,
);
export type DeviceEnqueue = Static<typeof DeviceEnqueueSchema>;
/**
 * From the device: returns the first `max` items, the most urgent first; they stay queued until
 * `device.ack`. Reply: DeviceDrained.
 */
export type DeviceDrain = { readonly type: 'device.drain'; readonly max: number };
export type DeviceDrained = { readonly items: readonly WaitingItem[]; readonly more: boolean };
/** Reply: { acked: number }. */
export type DeviceAck = { readonly type: 'device.ack'; readonly itemIds: readonly string[] };
export type WaitingItem = {
  readonly itemId: string;
  readonly kind: string;
  readonly payloadJson?: string;
  readonly priority: 'high' | 'normal' | 'low';
  readonly queuedAt: number;
  readonly expiresAt: number;
};

// ---- to gateways, on the Bus: ephemeral, so repeated until one accepts it

/** Every gateway of a tenant receives it; those without the connection ignore it. */
export const devicesTopic = (tenant: string): string => `devices.${escapeToken(tenant)}`;

/** To the gateway with connection `connId`: send the command to the node. */
export type DeviceDeliver = {
  readonly type: 'device.deliver';
  readonly deviceId: string;
  readonly connId: string;
  readonly id: string;
  readonly command: string;
  readonly paramsJson: string;
  /** remaining time */
  readonly timeoutMs: number;
  readonly sessionKey?: string;
};
/** No caller waits for the answer any more. */
export type DeviceCancel = {
  readonly type: 'device.cancel';
  readonly deviceId: string;
  readonly connId: string;
  readonly id: string;
};
/** An item is queued for the node; it may fetch it. */
export type DeviceWork = {
  readonly type: 'device.work';
  readonly deviceId: string;
  readonly connId: string;
};
/**
 * The displayed state of the device changed; its row has the details. `removed` closes its
 * connections. `revoked` closes those of the role, because the token was revoked or replaced.
 */
export type DeviceChanged = {
  readonly type: 'device.changed';
  readonly deviceId: string;
  readonly what:
    | 'requested'
    | 'approved'
    | 'rejected'
    | 'expired'
    | 'removed'
    | 'revoked'
    | 'renamed'
    | 'online'
    | 'offline'
    | 'surface-requested'
    | 'surface-approved'
    | 'surface-rejected';
  readonly requestId?: string;
  /** for `revoked`, and for decisions about a request */
  readonly role?: DeviceRole;
  /** for `online` and `offline` */
  readonly connId?: string;
};
export type DeviceNotice = DeviceDeliver | DeviceCancel | DeviceWork | DeviceChanged;

export const deviceAddress = (tenant: string, deviceId: string): Address =>
  address(tenant, 'device', deviceId);

/** The device id of a raw public key in base64url. */
export const deviceIdOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('hex');

/** Identifies a command with its parameters. */
export const invocationDigest = (command: string, paramsJson: string): string =>
  createHash('sha256').update(`${command}\0${paramsJson}`).digest('base64url');
