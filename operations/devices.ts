/**
 * Devices: programs with a key that may connect. The callers of these operations administer every
 * device; OpenClaw's methods `device.pair.*` also serve devices that manage themselves.
 */
import { type TLiteral, type TUnion, Type } from '@sinclair/typebox';
import {
  DEVICE_ROLES,
  DeviceAskSchema,
  type DeviceRole,
  type DeviceRow,
} from '../protocols/device.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { PairedDevice, PendingDevice } from '../protocols/gateway/index.ts';
import {
  approveDevice,
  deviceNamed,
  deviceRows,
  deviceScope,
  rejectDevice,
  removeDevice,
  renameDevice,
  revokeDevice,
  rotateToken,
} from './devices/change-device.ts';
import { pairedDevice, pendingDevice } from './devices/device-rows.ts';
import { newDeviceToken } from './devices/device-tokens.ts';
import { importDevice } from './devices/import-device.ts';
import { devicesText, labelOf } from './devices/text.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';

const Id = Type.String({
  minLength: 1,
  description: 'Id of the device, at least 6 characters of it, or its name',
});
const Request = Type.Object({
  request: Type.String({ minLength: 1, description: 'Id of the pairing request, from the list' }),
});
const Role: TUnion<TLiteral<DeviceRole>[]> = Type.Union(
  DEVICE_ROLES.map((role) => Type.Literal(role)),
  { description: 'Whose token: that of the operator or of the node', default: 'operator' },
);

const deviceId = (context: OperationContext, id: string): string =>
  deviceNamed(context, id).deviceId;

const paired = ({ live }: OperationContext, row: DeviceRow): PairedDevice | undefined =>
  pairedDevice(row, live?.isConnected(row.deviceId));

export const deviceList = defineOperation({
  name: 'devices.list',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'List pairing requests and approved devices',
  params: Type.Object({}),
  result: Type.Object({
    pending: Type.Array(ObjectOf<PendingDevice>()),
    paired: Type.Array(ObjectOf<PairedDevice>()),
  }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/devices',
    operationId: 'listDevices',
    responses: { 200: '`connected` only where the entry point knows it' },
  },
  cli: {
    command: 'devices list',
    connection: 'websocket',
    examples: ['troupe devices', 'troupe devices list --json'],
    print: (listed) => devicesText(listed, Date.now()),
  },
  run(context) {
    const [rows, now] = [deviceRows(context), context.now()];
    const open = rows.flatMap((row) => row.requests.map((asked) => ({ row, asked })));
    return {
      pending: open
        .filter(({ asked }) => asked.expiresAt > now)
        .map(({ row, asked }) => pendingDevice(row, asked)),
      paired: rows.flatMap((row) => paired(context, row) ?? []),
    };
  },
});

const show = defineOperation({
  name: 'devices.show',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'Show an approved device with its roles, scopes and tokens',
  params: Type.Object({ id: Id }),
  result: ObjectOf<PairedDevice>(),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'GET',
    path: '/v1/devices/{id}',
    operationId: 'getDevice',
    responses: { 200: 'The device' },
  },
  run(context, { id }) {
    const found = paired(context, deviceNamed(context, id));
    if (found) return found;
    throw new TroupeError('NOT_FOUND', `device ${id.slice(0, 80)} is not approved`);
  },
});

const approve = defineOperation({
  name: 'devices.approve',
  scope: 'tenant',
  summary: 'Approve a device with the role and scopes that it requests',
  params: Request,
  result: Type.Object({ requestId: Type.String(), device: ObjectOf<PairedDevice>() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/device-requests/{request}/approve',
    operationId: 'approveDevice',
    responses: { 200: 'The approved device' },
  },
  cli: {
    command: 'devices approve',
    connection: 'websocket',
    args: ['request'],
    examples: ['troupe devices approve 3f0c8a52-1d1e-4d0a-9a53-0f6c1a7b2c11'],
    print: ({ device }) => `${labelOf(device)} is approved as ${device.role}\n`,
  },
  run: (context, { request }) => approveDevice(deviceScope(context), request),
});

const reject = defineOperation({
  name: 'devices.reject',
  scope: 'tenant',
  summary: 'Reject the pairing request of a device',
  params: Request,
  result: Type.Object({ requestId: Type.String(), deviceId: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/device-requests/{request}/reject',
    operationId: 'rejectDevice',
    responses: { 200: 'Rejected' },
  },
  cli: {
    command: 'devices reject',
    connection: 'websocket',
    args: ['request'],
    print: (rejected) => `${rejected.deviceId} is rejected\n`,
  },
  run: (context, { request }) => rejectDevice(deviceScope(context), request),
});

const remove = defineOperation({
  name: 'devices.remove',
  scope: 'tenant',
  summary: 'Remove a device: its tokens become invalid and its connections are closed',
  params: Type.Object({ id: Id }),
  result: Type.Object({ deviceId: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/devices/{id}',
    operationId: 'removeDevice',
    responses: { 200: 'Removed' },
  },
  cli: {
    command: 'devices remove',
    connection: 'websocket',
    args: ['id'],
    print: (removed) =>
      `${removed.deviceId} is removed; its tokens are invalid and its connections closed\n`,
  },
  run: (context, { id }) => removeDevice(deviceScope(context), deviceId(context, id)),
});

const rename = defineOperation({
  name: 'devices.rename',
  scope: 'tenant',
  summary: 'Rename a device or a node',
  params: Type.Object({
    id: Id,
    label: Type.String({ minLength: 1, maxLength: 64, description: 'Display name' }),
  }),
  result: Type.Object({ deviceId: Type.String(), label: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices/{id}/name',
    operationId: 'renameDevice',
    responses: { 200: 'Renamed' },
  },
  cli: {
    command: 'devices rename',
    connection: 'websocket',
    args: ['id', 'label'],
    examples: ['troupe devices rename b90aec desk'],
    print: (renamed) => `${renamed.deviceId} is now named ${renamed.label}\n`,
  },
  run: (context, { id, label }) => renameDevice(deviceScope(context), deviceId(context, id), label),
});

const rotate = defineOperation({
  name: 'devices.rotate',
  scope: 'tenant',
  summary: 'Issue a new token for a device and show it once; the old one becomes invalid',
  params: Type.Object({
    id: Id,
    role: Type.Optional(Role),
    scopes: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: 'Scopes of the new token, at most those of the device',
      }),
    ),
  }),
  result: Type.Object({
    deviceId: Type.String(),
    role: Type.String(),
    token: Type.String({ description: 'Only its hash is stored' }),
    scopes: Type.Array(Type.String()),
    rotatedAtMs: Type.Integer(),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices/{id}/rotate',
    operationId: 'rotateDeviceToken',
    responses: { 200: 'The new token' },
  },
  cli: {
    command: 'devices rotate',
    connection: 'websocket',
    args: ['id'],
    flags: { scopes: '--scope <scope...>' },
    examples: ['troupe devices rotate desk', 'troupe devices rotate desk --scope operator.read'],
    print: (rotated) =>
      `the old token of ${rotated.deviceId} is invalid; the new one, shown once:\n` +
      `${rotated.token}\n`,
  },
  async run(context, { id, role = 'operator', scopes }) {
    const token = newDeviceToken();
    const device = deviceId(context, id);
    const rotated = await rotateToken(deviceScope(context), device, role, { token, scopes });
    return { ...rotated, token, rotatedAtMs: context.now() };
  },
});

const revoke = defineOperation({
  name: 'devices.revoke',
  scope: 'tenant',
  summary: 'Revoke the token of a device; it needs the secret of the gateway again',
  params: Type.Object({ id: Id, role: Type.Optional(Role) }),
  result: Type.Object({
    deviceId: Type.String(),
    role: Type.String(),
    revokedAtMs: Type.Integer(),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices/{id}/revoke',
    operationId: 'revokeDevice',
    responses: { 200: 'Revoked' },
  },
  cli: {
    command: 'devices revoke',
    connection: 'websocket',
    args: ['id'],
    print: (revoked) => `the ${revoked.role} token of ${revoked.deviceId} is revoked\n`,
  },
  run: (context, { id, role = 'operator' }) =>
    revokeDevice(deviceScope(context), deviceId(context, id), role),
});

const { publicKey, scopes: Scopes, face } = DeviceAskSchema.properties;

/** Exported for the import of an installation of OpenClaw. */
export const deviceImport = defineOperation({
  name: 'devices.import',
  scope: 'tenant',
  summary: 'Add a device that another installation approved, by its key; it has no token yet',
  params: Type.Object({ publicKey, role: Role, scopes: Scopes, face }),
  result: Type.Object({ deviceId: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'CONFLICT', 'RATE_LIMIT_EXCEEDED', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices',
    operationId: 'importDevice',
    responses: { 200: 'The device' },
  },
  run: (context, device) => importDevice(deviceScope(context), device),
});

export const devices: Resource = {
  name: 'devices',
  operations: [deviceList, show, approve, reject, remove, rename, rotate, revoke, deviceImport],
};
