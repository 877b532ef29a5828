/**
 * Devices and nodes: programs with a key that may connect, and those that execute commands. The
 * callers of these operations administer every device; OpenClaw's methods `device.pair.*` also
 * serve devices that manage themselves.
 */
import { type TLiteral, type TUnion, Type } from '@sinclair/typebox';
import { DEVICE_ROLES, type DeviceRole } from '../protocols/device.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { NodeEntry, PairedDevice, PendingDevice } from '../protocols/gateway/index.ts';
import {
  approveDevice,
  deviceRow,
  deviceRows,
  type DeviceScope,
  rejectDevice,
  removeDevice,
  renameDevice,
  revokeDevice,
} from './devices/change-device.ts';
import { pairedDevice, pendingDevice } from './devices/device-rows.ts';
import { isNode, nodeEntry } from './devices/node-rows.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';

const Id = Type.String({ minLength: 1, description: 'Id of the device, from the list' });
const Request = Type.Object({
  request: Type.String({ minLength: 1, description: 'Id of the pairing request, from the list' }),
});
const Role: TUnion<TLiteral<DeviceRole>[]> = Type.Union(
  DEVICE_ROLES.map((role) => Type.Literal(role)),
  { description: 'Whose token: that of the operator or of the node' },
);

const asking = ({ system, tenant, caller }: OperationContext): DeviceScope => ({
  system,
  tenant,
  principal: { sub: caller.sub, roles: ['operator'] },
});

const list = defineOperation({
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
    responses: { 200: 'From committed rows' },
  },
  run(context) {
    const [rows, now] = [deviceRows(context), context.now()];
    const open = rows.flatMap((row) => row.requests.map((asked) => ({ row, asked })));
    return {
      pending: open
        .filter(({ asked }) => asked.expiresAt > now)
        .map(({ row, asked }) => pendingDevice(row, asked)),
      paired: rows.flatMap((row) => pairedDevice(row) ?? []),
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
  errors: ['NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/devices/{id}',
    operationId: 'getDevice',
    responses: { 200: 'The device' },
  },
  run(context, { id }) {
    const found = pairedDevice(deviceRow(context, id));
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
  run: (context, { request }) => approveDevice(asking(context), request),
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
  run: (context, { request }) => rejectDevice(asking(context), request),
});

const remove = defineOperation({
  name: 'devices.remove',
  scope: 'tenant',
  summary: 'Remove a device: its tokens become invalid and its connections are closed',
  params: Type.Object({ id: Id }),
  result: Type.Object({ deviceId: Type.String() }),
  errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/devices/{id}',
    operationId: 'removeDevice',
    responses: { 200: 'Removed' },
  },
  run: (context, { id }) => removeDevice(asking(context), id),
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
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices/{id}/name',
    operationId: 'renameDevice',
    responses: { 200: 'Renamed' },
  },
  run: (context, { id, label }) => renameDevice(asking(context), id, label),
});

const revoke = defineOperation({
  name: 'devices.revoke',
  scope: 'tenant',
  summary: 'Revoke the token of a device; it needs the secret of the gateway again',
  params: Type.Object({ id: Id, role: Role }),
  result: Type.Object({
    deviceId: Type.String(),
    role: Type.String(),
    revokedAtMs: Type.Integer(),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/devices/{id}/revoke',
    operationId: 'revokeDevice',
    responses: { 200: 'Revoked' },
  },
  run: (context, { id, role }) => revokeDevice(asking(context), id, role),
});

/** The rows of nodes only say which gateway they were connected to. */
const ALIVE = { isAlive: () => true };

const listNodes = defineOperation({
  name: 'nodes.list',
  scope: 'tenant',
  summary: 'List the devices that execute commands, with what they offer',
  params: Type.Object({}),
  result: Type.Object({ nodes: Type.Array(ObjectOf<NodeEntry>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/nodes',
    operationId: 'listNodes',
    responses: { 200: '`connected` as the device itself last reported it' },
  },
  run: (context) => ({
    nodes: deviceRows(context)
      .filter(isNode)
      .map((row) => nodeEntry(row, ALIVE)),
  }),
});

const showNode = defineOperation({
  name: 'nodes.show',
  scope: 'tenant',
  summary: 'Show a node with its commands, permissions and pending approval',
  params: Type.Object({ id: Id }),
  result: ObjectOf<NodeEntry>(),
  errors: ['NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/nodes/{id}',
    operationId: 'getNode',
    responses: { 200: 'The node' },
  },
  run(context, { id }) {
    const row = deviceRow(context, id);
    if (isNode(row)) return nodeEntry(row, ALIVE);
    throw new TroupeError('NOT_FOUND', `device ${id.slice(0, 80)} is not a node`);
  },
});

export const devices: Resource = {
  name: 'devices',
  operations: [list, show, approve, reject, remove, rename, revoke, listNodes, showNode],
};
