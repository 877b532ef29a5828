/**
 * Device row: what a device reports about itself, and its committed public state. The messages that
 * change it are in device.ts.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from './any-key.ts';

const closed = { additionalProperties: false } as const;
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Words = (maxItems: number) => Type.Array(Text(200), { maxItems });

export const DEVICE_ROLES = ['operator', 'node'] as const;
export type DeviceRole = (typeof DEVICE_ROLES)[number];

/** What a device reports about itself; displayed to the user who decides. */
export const DeviceFaceSchema = Type.Object(
  {
    name: Type.Optional(Text(120)),
    clientId: Type.Optional(Text(64)),
    clientMode: Type.Optional(Text(32)),
    version: Type.Optional(Text(64)),
    platform: Type.Optional(Text(64)),
    deviceFamily: Type.Optional(Text(64)),
    modelIdentifier: Type.Optional(Text(64)),
    ip: Type.Optional(Text(64)),
  },
  closed,
);
export type DeviceFace = Static<typeof DeviceFaceSchema>;

/**
 * A command that a node offers. `params` is a JSON Schema (the 2020-12 subset of Ajv) for the
 * parameters; absent: any parameters.
 */
export const NodeCommandSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' }),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    description: Type.Optional(Type.String({ maxLength: 500 })),
  },
  closed,
);
export type NodeCommand = Static<typeof NodeCommandSchema>;

export const PERMISSIONS = ['granted', 'denied', 'undetermined'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Maximum size of a node's surface as JSON; it is stored in its row. */
export const SURFACE_CHARACTERS_MAX = 131_072;

/**
 * What a node can do. The device's owner sets `permissions` on the device. A command of a `denied`
 * capability is FORBIDDEN; for an `undetermined` one, the device asks its user.
 */
export const NodeSurfaceSchema = Type.Object(
  {
    caps: Words(64),
    commands: Type.Array(NodeCommandSchema, { maxItems: 200 }),
    permissions: Type.Record(
      AnyKey,
      Type.Union(PERMISSIONS.map((permission) => Type.Literal(permission))),
    ),
    pathEnv: Type.Optional(Type.String({ maxLength: 4_096 })),
  },
  closed,
);
export type NodeSurface = Static<typeof NodeSurfaceSchema>;

/** Why approval is required. */
export const PAIRING_REASONS = [
  'not-paired',
  'role-upgrade',
  'scope-upgrade',
  'metadata-upgrade',
] as const;
export type PairingReason = (typeof PAIRING_REASONS)[number];

/** Index `devices`, key deviceId. */
export const DEVICES_INDEX = 'devices';
export type DeviceRow = {
  readonly deviceId: string;
  /** base64url */
  readonly publicKey: string;
  readonly face: DeviceFace;
  /** set by a user; default `face.name` */
  readonly name?: string;
  readonly createdAt: number;
  /** approved roles; none: the device waits for approval, or was rejected */
  readonly roles: { readonly [R in DeviceRole]?: DeviceGrant };
  /** requests that wait for approval, the oldest first; at most one per role */
  readonly requests: readonly PairingRequest[];
  /** of a node */
  readonly node?: NodeState;
};
export type DeviceGrant = {
  readonly scopes: readonly string[];
  readonly approvedAt: number;
  /** who approved: `local`, or a principal's `sub` */
  readonly approvedBy: string;
  /** hex SHA-256; absent: no token, or it was revoked */
  readonly tokenHash?: string;
  readonly tokenAt?: number;
  /** scopes of the token, if narrower than `scopes` */
  readonly tokenScopes?: readonly string[];
  readonly revokedAt?: number;
};
export type PairingRequest = {
  readonly requestId: string;
  readonly role: DeviceRole;
  readonly scopes: readonly string[];
  readonly reason: PairingReason;
  readonly at: number;
  readonly expiresAt: number;
  readonly face: DeviceFace;
};
export type NodeState = {
  /** what the node reported when it last connected */
  readonly surface: NodeSurface;
  /** names of approved commands */
  readonly approved: readonly string[];
  readonly approvedAt?: number;
  /** commands that wait for approval; the request does not expire */
  readonly request?: {
    readonly requestId: string;
    readonly at: number;
    /** names of those commands */
    readonly commands: readonly string[];
  };
  /** its last known connection; absent: disconnected */
  readonly link?: { readonly gateway: string; readonly connId: string; readonly since: number };
  readonly lastSeenAt: number;
  /** commands without an answer yet */
  readonly invoking: number;
  /** items in its queue */
  readonly waiting: number;
};
