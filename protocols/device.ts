/**
 * Device: a program with an Ed25519 identity that people let in (GW3, ND1). What doors say to a
 * device actor and what it tells the gateways; the row it leaves is in device-row.ts. Its address
 * is `{tenant}/device/{deviceId}`.
 *
 * A device is let in per role, by a person or because it came from this machine with the right
 * secret; as a `node` it may also do work: the commands that a person approved are invoked through
 * its actor, whichever gateway it is connected to, and what is meant for it waits while it is away.
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

/** Hex SHA-256 of the raw public key of 32 bytes. */
export const DEVICE_ID = /^[0-9a-f]{64}$/;
/** A request to be let in that nobody answered ends after it. */
export const PAIRING_MS = 300_000;
/** Devices of one tenant. Doors count rows, so requests of one moment may exceed it. */
export const DEVICES_MAX = 10_000;
/** Strangers that wait for a person, and of them those of one IP address; more are refused. */
export const STRANGERS_MAX = 100;
export const STRANGERS_PER_IP_MAX = 25;
/** One that nobody let in is forgotten so long after its last request. */
export const UNPAIRED_RETENTION_MS = 3_600_000;

/** Time for a command, from the caller's request to the device's answer. */
export const INVOKE_MS_DEFAULT = 30_000;
export const INVOKE_MS_MAX = 600_000;
/** Commands of one device that wait for their answer. */
export const INVOCATIONS_MAX = 64;
/** Ended ones that are remembered for who asks again under the same key, and for how long. */
export const INVOCATIONS_KEPT = 100;
export const INVOCATION_KEPT_MS = 600_000;
/** A command that no gateway took is told again, so often; then the device counts as away. */
export const DELIVER_AGAIN_MS = 1_000;
export const DELIVERIES_MAX = 3;
/** Who asked for one invocation and is owed its answer. */
export const ASKERS_MAX = 8;
/**
 * Parameters of all that wait for an answer, and answers kept, per device, in characters. Each turn
 * of a device writes all of them, so they are a few times the largest one; of an older answer only
 * that it was given is remembered.
 */
export const PENDING_CHARACTERS_MAX = 524_288;
export const KEPT_CHARACTERS_MAX = 131_072;
/** Parameters, and an answer that stands in the actor; a longer answer is a file (`Payload`). */
export const PARAMS_CHARACTERS_MAX = 262_144;
export const PAYLOAD_CHARACTERS_MAX = 32_768;

/** What waits for a device that is away, and how long by default, at least and at most. */
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

// ---- from doors

/**
 * Asks to be let in with a role and scopes. `approved`: the door has the right to say yes by
 * itself (this machine and the right secret), and the device has no other role yet or only its own
 * again. Answer: DeviceAsked. Asked again while it waits: the same request, its time begins anew.
 */
export const DeviceAskSchema = Type.Object(
  {
    type: Type.Literal('device.ask'),
    /** base64url of the raw key; must be that of the address */
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
 * A person's word about a request: from a door, by a principal with the role `operator`; else
 * FORBIDDEN. Answer: DeviceRow; NOT_FOUND when it is gone, was answered or is past its time.
 */
export type DeviceApprove = { readonly type: 'device.approve'; readonly requestId: string };
export type DeviceReject = { readonly type: 'device.reject'; readonly requestId: string };
/** It is forgotten, with its tokens and what waits for it. Answer: { removed: deviceId }. */
export type DeviceRemove = { readonly type: 'device.remove' };
/** Answer: DeviceRow. */
export type DeviceRename = { readonly type: 'device.rename'; readonly name: string };

/**
 * A token was made for a role that is let in: the actor keeps its SHA-256 (hex). With `replace` it
 * takes the place of the one there is, which is worth nothing from then on; else the first counts.
 * `scopes` narrows what the token may (`tokenScopes`). Answer: { taken: boolean }; NOT_FOUND
 * without the role. To replace one is a person's word, as those above.
 */
export type DeviceToken = {
  readonly type: 'device.token';
  readonly role: DeviceRole;
  readonly hash: string;
  readonly replace?: boolean;
  readonly scopes?: readonly string[];
};
/** Its token is worth nothing any more; the role stays. Answer: DeviceRow. */
export type DeviceRevoke = { readonly type: 'device.revoke'; readonly role: DeviceRole };

/**
 * A node is connected and says what it can do. `approved` as in DeviceAsk: what it offers needs no
 * person. A newer connection takes the place of an older. Answer: DeviceLinked. What waits is told
 * to its gateway then.
 */
export const DeviceOnlineSchema = Type.Object(
  {
    type: Type.Literal('device.online'),
    gateway: Id,
    connId: Id,
    surface: NodeSurfaceSchema,
    face: DeviceFaceSchema,
    approved: Type.Optional(Type.Boolean()),
    /** it answers a command that it was told twice from its book: one that was cut off is retold */
    replays: Type.Optional(Type.Boolean()),
  },
  closed,
);
export type DeviceOnline = Static<typeof DeviceOnlineSchema>;
export type DeviceLinked = {
  readonly surface: 'approved' | 'pending';
  /** of the question about its commands, while it is pending */
  readonly requestId?: string;
};
/**
 * That connection has ended; of another one nothing changes. Answer: { offline: boolean }. A
 * gateway that hears `offline` of a connection that it has (it was too slow to take a command) says
 * `device.online` again.
 */
export type DeviceOffline = { readonly type: 'device.offline'; readonly connId: string };

/** A person's word about the commands of a node. Answer: DeviceRow; NOT_FOUND as for requests. */
export type SurfaceApprove = {
  readonly type: 'device.surface.approve';
  readonly requestId: string;
};
export type SurfaceReject = { readonly type: 'device.surface.reject'; readonly requestId: string };

/** An answer, or where it is when it is long: a file of the tenant, by its SHA-256. */
export type Payload =
  | { readonly json: string }
  | { readonly file: string; readonly characters: number };

/**
 * Has a node carry out a command. `id` is the caller's idempotency key: the same id again is the
 * same invocation and gets its answer; CONFLICT when command or parameters differ. Answered when
 * the node has answered: InvocationDone, or the node's error; refused with NOT_FOUND (no such
 * command), FORBIDDEN (not approved, not permitted), UNAVAILABLE (away, or left before it
 * answered), DEADLINE_EXCEEDED, RATE_LIMIT_EXCEEDED, INVALID_ARGUMENT. Those of UNAVAILABLE and
 * DEADLINE_EXCEEDED have `details.outcome`: after `none` the node never had it, and the same id
 * begins it anew; after `unknown` it may have carried it out, and the same id gets the node's
 * answer if that has come since; `done`: it was answered, and the answer is kept no longer.
 * Parameters are checked here only to be JSON: against the command's schema the caller's door or
 * tool checks them, which takes more than a turn may. What `system.run` is told of an approval is
 * taken out of them.
 */
export const DeviceInvokeSchema = Type.Object(
  {
    type: Type.Literal('device.invoke'),
    id: Id,
    command: Text(100),
    paramsJson: Type.String({ maxLength: PARAMS_CHARACTERS_MAX }),
    timeoutMs: Type.Integer({ minimum: 1, maximum: INVOKE_MS_MAX }),
    /** where the run that wants it is, for the device's own questions */
    sessionKey: Type.Optional(Text(512)),
  },
  closed,
);
export type DeviceInvoke = Static<typeof DeviceInvokeSchema>;
export type InvocationDone = { readonly payload: Payload | null };

/**
 * The gateway is about to hand the command to the node's connection, and does so only when the
 * answer is { taken: true }: so `outcome: none` is true however it dies. Answer: { taken: boolean
 * }; false when nobody waits for it any more or it belongs to another connection. The same again
 * from the same connection is true again: a gateway hands one id over once per connection.
 */
export type DeviceTaken = {
  readonly type: 'device.taken';
  readonly id: string;
  readonly connId: string;
};
/** What the node answered. The first answer counts. Answer: { taken: boolean }. */
export type DeviceResult = {
  readonly type: 'device.result';
  readonly id: string;
  readonly connId: string;
  readonly payload?: Payload;
  /** instead of a payload: it could not */
  readonly error?: ErrorData;
};

/**
 * Work for a device that may be away; it fetches it when it comes. The same `itemId` again is the
 * same item. Answer: { itemId, waiting }; RATE_LIMIT_EXCEEDED above WAITING_MAX or
 * WAITING_CHARACTERS_MAX; FORBIDDEN when it is not let in as a node.
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
 * By the device: shows the first `max`, the most urgent first; they stay until `device.ack`.
 * Answer: DeviceDrained.
 */
export type DeviceDrain = { readonly type: 'device.drain'; readonly max: number };
export type DeviceDrained = { readonly items: readonly WaitingItem[]; readonly more: boolean };
/** Answer: { acked: number }. */
export type DeviceAck = { readonly type: 'device.ack'; readonly itemIds: readonly string[] };
export type WaitingItem = {
  readonly itemId: string;
  readonly kind: string;
  readonly payloadJson?: string;
  readonly priority: 'high' | 'normal' | 'low';
  readonly queuedAt: number;
  readonly expiresAt: number;
};

// ---- to gateways, on the Bus: ephemeral, so told again until it is taken

/** Every gateway of a tenant listens; whose connection it is not takes no notice. */
export const devicesTopic = (tenant: string): string => `devices.${escapeToken(tenant)}`;

/** To the gateway that has connection `connId`: hand the command to the node. */
export type DeviceDeliver = {
  readonly type: 'device.deliver';
  readonly deviceId: string;
  readonly connId: string;
  readonly id: string;
  readonly command: string;
  readonly paramsJson: string;
  /** what is left of its time */
  readonly timeoutMs: number;
  readonly sessionKey?: string;
};
/** Nobody waits for the answer any more. */
export type DeviceCancel = {
  readonly type: 'device.cancel';
  readonly deviceId: string;
  readonly connId: string;
  readonly id: string;
};
/** Something is waiting for the node; it may fetch it. */
export type DeviceWork = {
  readonly type: 'device.work';
  readonly deviceId: string;
  readonly connId: string;
};
/**
 * Something changed that people look at; the row says what is. `removed` ends its connections, and
 * `revoked` those of the role: its token was revoked, or another took its place.
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
  /** of `revoked`, and of the words about a request */
  readonly role?: DeviceRole;
  /** of `online` and `offline` */
  readonly connId?: string;
};
export type DeviceNotice = DeviceDeliver | DeviceCancel | DeviceWork | DeviceChanged;

export const deviceAddress = (tenant: string, deviceId: string): Address =>
  address(tenant, 'device', deviceId);

/** The id that belongs to a raw public key in base64url. */
export const deviceIdOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('hex');

/** What tells one command with its parameters from another. */
export const invocationDigest = (command: string, paramsJson: string): string =>
  createHash('sha256').update(`${command}\0${paramsJson}`).digest('base64url');
