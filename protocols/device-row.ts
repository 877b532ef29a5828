/**
 * Device row: what a device says of itself and what is committed of it for everyone to read. The
 * messages that change it are in device.ts.
 */
import { type Static, Type } from '@sinclair/typebox';

const closed = { additionalProperties: false } as const;
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Words = (maxItems: number) => Type.Array(Text(200), { maxItems });

export const DEVICE_ROLES = ['operator', 'node'] as const;
export type DeviceRole = (typeof DEVICE_ROLES)[number];

/** What a device says of itself; shown to the person who decides. */
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
 * A command that a node offers. `params` is a JSON Schema (2020-12 subset of Ajv) that parameters
 * must satisfy; absent: any.
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

/** All that a node says of itself, as JSON; it stands in its row. */
export const SURFACE_CHARACTERS_MAX = 131_072;

/**
 * What a node can do. `permissions` are what the device's owner allowed there: a command of a
 * capability that is `denied` is FORBIDDEN; of one that is `undetermined` the device asks.
 */
export const NodeSurfaceSchema = Type.Object(
  {
    caps: Words(64),
    commands: Type.Array(NodeCommandSchema, { maxItems: 200 }),
    permissions: Type.Record(
      Text(64),
      Type.Union(PERMISSIONS.map((permission) => Type.Literal(permission))),
    ),
    pathEnv: Type.Optional(Type.String({ maxLength: 4_096 })),
  },
  closed,
);
export type NodeSurface = Static<typeof NodeSurfaceSchema>;

/** Why a person is asked. */
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
  /** what a person called it; default `face.name` */
  readonly name?: string;
  readonly createdAt: number;
  /** roles that it is let in with; none: it waits, or was rejected */
  readonly roles: { readonly [R in DeviceRole]?: DeviceGrant };
  /** questions that wait for a person, the oldest first: at most one for each role */
  readonly requests: readonly PairingRequest[];
  /** of a node */
  readonly node?: NodeState;
};
export type DeviceGrant = {
  readonly scopes: readonly string[];
  readonly approvedAt: number;
  /** who said yes: `local`, or a principal's `sub` */
  readonly approvedBy: string;
  /** hex SHA-256; absent: none was made, or it was revoked */
  readonly tokenHash?: string;
  readonly tokenAt?: number;
  /** what the token may, where it is less than `scopes` */
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
  /** what it said when it was connected last */
  readonly surface: NodeSurface;
  /** names of commands that may be invoked */
  readonly approved: readonly string[];
  readonly approvedAt?: number;
  /** commands that wait for a person; it does not run out of time */
  readonly request?: {
    readonly requestId: string;
    readonly at: number;
    /** names of those commands */
    readonly commands: readonly string[];
  };
  /** its connection, as far as is known; absent: away */
  readonly link?: { readonly gateway: string; readonly connId: string; readonly since: number };
  readonly lastSeenAt: number;
  /** commands that wait for an answer */
  readonly invoking: number;
  /** items that wait for it */
  readonly waiting: number;
};
