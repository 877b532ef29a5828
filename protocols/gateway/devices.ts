/**
 * `device.pair.*`, `device.token.*`: pairing devices and revoking their rights. The published
 * document does not define the list and the device; these shapes follow what OpenClaw's clients
 * read.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { EventArea, MethodArea } from './method.ts';
import { closed, Count, NonEmpty, Optional, Text } from './shapes.ts';

const ByRequest = Type.Object({ requestId: NonEmpty }, closed);
const ByDevice = Type.Object({ deviceId: NonEmpty }, closed);
const ByRole = Type.Object({ deviceId: NonEmpty, role: NonEmpty }, closed);

/** What a device reports about itself. */
const face = {
  displayName: Optional(NonEmpty),
  platform: Optional(NonEmpty),
  deviceFamily: Optional(NonEmpty),
  clientId: Optional(NonEmpty),
  clientMode: Optional(NonEmpty),
  remoteIp: Optional(NonEmpty),
};

/** A pending pairing request; also the payload of `device.pair.requested`. */
export const DevicePairRequested = Type.Object(
  {
    requestId: NonEmpty,
    deviceId: NonEmpty,
    publicKey: NonEmpty,
    ...face,
    role: NonEmpty,
    roles: Type.Array(NonEmpty),
    scopes: Type.Array(NonEmpty),
    silent: Type.Boolean(),
    /** the device is already paired and requests more rights */
    isRepair: Type.Boolean(),
    ts: Count,
  },
  closed,
);
export type DevicePairRequested = Static<typeof DevicePairRequested>;

/** `reason` and `expiresAtMs` are extensions. */
const Pending = Type.Composite(
  [DevicePairRequested, Type.Object({ reason: Optional(Text), expiresAtMs: Optional(Count) })],
  closed,
);
export type PendingDevice = Static<typeof Pending>;

/** Contains neither the token nor its hash. */
const DeviceTokenSummary = Type.Object(
  {
    role: NonEmpty,
    scopes: Type.Array(NonEmpty),
    createdAtMs: Count,
    revokedAtMs: Optional(Count),
  },
  closed,
);

/** `operatorLabel` is the name that a user gave the device. */
export const PairedDevice = Type.Object(
  {
    deviceId: NonEmpty,
    publicKey: NonEmpty,
    ...face,
    operatorLabel: Optional(NonEmpty),
    /** the role that was granted last */
    role: NonEmpty,
    roles: Type.Array(NonEmpty),
    /** of the role `operator` */
    scopes: Type.Array(NonEmpty),
    approvedVia: NonEmpty,
    approvedBy: NonEmpty,
    createdAtMs: Count,
    approvedAtMs: Count,
    connected: Optional(Type.Boolean()),
    tokens: Type.Array(DeviceTokenSummary),
  },
  closed,
);
export type PairedDevice = Static<typeof PairedDevice>;

const Rotate = Type.Object(
  { deviceId: NonEmpty, role: NonEmpty, scopes: Optional(Type.Array(NonEmpty)) },
  closed,
);
/**
 * Only the device itself receives the token in the response. For another device, the token is
 * delivered at its next connect.
 */
const Rotated = Type.Object(
  {
    deviceId: NonEmpty,
    role: NonEmpty,
    token: Optional(NonEmpty),
    scopes: Type.Array(NonEmpty),
    rotatedAtMs: Count,
    tokenDelivery: Type.Union([Type.Literal('in-band'), Type.Literal('withheld-cross-device')]),
  },
  closed,
);

const LABEL_MAX = 64;
const Rename = Type.Object(
  { deviceId: NonEmpty, label: Type.String({ minLength: 1, maxLength: LABEL_MAX }) },
  closed,
);

const pairing = 'operator.pairing';

export const deviceMethods = {
  'device.pair.list': {
    params: Type.Object({}, closed),
    result: Type.Object({ pending: Type.Array(Pending), paired: Type.Array(PairedDevice) }, closed),
    scope: pairing,
  },
  'device.pair.approve': {
    params: ByRequest,
    result: Type.Object({ requestId: NonEmpty, device: PairedDevice }, closed),
    scope: pairing,
  },
  'device.pair.reject': {
    params: ByRequest,
    result: Type.Object({ requestId: NonEmpty, deviceId: NonEmpty }, closed),
    scope: pairing,
  },
  'device.pair.remove': { params: ByDevice, result: ByDevice, scope: pairing },
  'device.pair.rename': { params: Rename, result: Rename, scope: pairing },
  'device.token.rotate': { params: Rotate, result: Rotated, scope: pairing },
  'device.token.revoke': {
    params: ByRole,
    result: Type.Object({ deviceId: NonEmpty, role: NonEmpty, revokedAtMs: Count }, closed),
    scope: pairing,
  },
} as const satisfies MethodArea;

const DevicePairResolved = Type.Object(
  { requestId: NonEmpty, deviceId: NonEmpty, decision: NonEmpty, ts: Count },
  closed,
);

/** For operators with the scope `operator.pairing`. */
export const deviceEvents = {
  'device.pair.requested': DevicePairRequested,
  'device.pair.resolved': DevicePairResolved,
  'device.pair.changed': Type.Object(
    { deviceId: Optional(NonEmpty), reason: Optional(NonEmpty), ts: Optional(Count) },
    closed,
  ),
} as const satisfies EventArea;
