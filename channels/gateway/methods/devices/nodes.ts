/**
 * `node.*` methods for operators: list nodes, approve their commands, and invoke them.
 * node-calls.ts contains the methods that nodes call.
 *
 * This file decides what the client may do; operations/devices gives the orders to the device.
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { TenantDevices } from '../../devices/tenant-devices.ts';
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import type { Presence } from '../../tenant/presence.ts';
import {
  DEVICE_ID,
  type DeviceRow,
  type Payload,
  WAITING_MS_DEFAULT,
} from '../../../../protocols/device.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  NodeEntry,
  NodeInvokeParams,
  NodePendingEnqueueParams,
} from '../../../../protocols/gateway/index.ts';
import {
  askDevice,
  type DeviceScope,
  renameDevice,
} from '../../../../operations/devices/change-device.ts';
import {
  approveNode,
  invokeNode,
  nodeOfRequest,
  rejectNode,
  removeNode,
} from '../../../../operations/devices/change-node.ts';
import {
  isNode,
  nodeEntry,
  pairedNode,
  pendingNode,
  scopesToApprove,
} from '../../../../operations/devices/node-rows.ts';
import { scopeMissing } from '../../../../operations/devices/scopes.ts';
import { assertOwn, missingDetails } from './device-rights.ts';
import { type MethodTable, published } from '../method.ts';
import { type NodeCallContext, nodeCallTable } from './node-calls.ts';
import { principalOf, type Request } from '../request.ts';

/** What requests of operators about nodes need. */
export type NodeContext = TenantScope & {
  readonly devices: Pick<TenantDevices, 'row' | 'rows' | 'text'>;
  readonly presence: Pick<Presence, 'peers'>;
  readonly clock: Clock;
};

const nodeList = ({ context }: Request<NodeContext>): { ts: number; nodes: NodeEntry[] } => ({
  ts: context.clock.wallMs(),
  nodes: [...context.devices.rows()]
    .filter(isNode)
    .map((row) => nodeEntry(row, context.presence.peers)),
});

const nodeDescribe = ({ context }: Request<NodeContext>, { nodeId }: { nodeId: string }) => ({
  ts: context.clock.wallMs(),
  ...nodeEntry(nodeOf({ context }, nodeId), context.presence.peers),
});

/** @throws TroupeError NOT_FOUND */
const nodeOf = ({ context }: Pick<Request<NodeContext>, 'context'>, nodeId: string): DeviceRow => {
  const row = DEVICE_ID.test(nodeId) ? context.devices.row(nodeId) : undefined;
  if (row !== undefined && isNode(row)) return row;
  throw new TroupeError(
    'NOT_FOUND',
    `there is no node ${nodeId.slice(0, 80)}: node.list lists the nodes`,
  );
};

const nodeInvoke = async (request: Request<NodeContext>, params: NodeInvokeParams) => {
  const { nodeId, command, idempotencyKey, ...rest } = params;
  const { devices } = request.context;
  const invocation = { ...rest, command, key: idempotencyKey };
  const textOf = (payload: Payload) => devices.text(payload);
  const row = nodeOf(request, nodeId);
  const payloadJSON = await invokeNode(scopeOf(request), row, invocation, textOf);
  const payload = payloadJSON === null ? null : (JSON.parse(payloadJSON) as unknown);
  return { ok: true, nodeId, command, payload, payloadJSON };
};

const nodeRename = async (
  request: Request<NodeContext>,
  { nodeId, displayName }: { nodeId: string; displayName: string },
) => {
  nodeOf(request, nodeId);
  assertOwn(request.connection.client, nodeId, 'node pairing rename');
  const { label } = await renameDevice(scopeOf(request), nodeId, displayName);
  return { nodeId, displayName: label };
};

const pairList = ({ context }: Request<NodeContext>) => {
  const nodes = [...context.devices.rows()].filter(({ node }) => node !== undefined);
  return {
    pending: nodes.filter(({ node }) => node?.request !== undefined).map(pendingNode),
    paired: nodes.filter(({ node }) => node?.approvedAt !== undefined).map(pairedNode),
  };
};

const pairApprove = async (request: Request<NodeContext>, { requestId }: { requestId: string }) => {
  const row = nodeOfRequest(request.context, requestId);
  assertOwn(request.connection.client, row.deviceId, 'node pairing approval');
  const missing = scopeMissing(request.connection.client?.scopes ?? [], scopesToApprove(row.node!));
  if (missing === undefined) return approveNode(scopeOf(request), requestId);
  throw new TroupeError(
    'FORBIDDEN',
    `missing scope: ${missing}: the node's commands run programs`,
    {
      details: missingDetails(missing),
    },
  );
};

const pairReject = async (request: Request<NodeContext>, { requestId }: { requestId: string }) => {
  const { deviceId } = nodeOfRequest(request.context, requestId);
  assertOwn(request.connection.client, deviceId, 'node pairing rejection');
  return rejectNode(scopeOf(request), requestId);
};

const pairRemove = async (request: Request<NodeContext>, { nodeId }: { nodeId: string }) => {
  const row = nodeOf(request, nodeId);
  assertOwn(request.connection.client, nodeId, 'node pairing removal');
  return removeNode(scopeOf(request), row);
};

const pendingEnqueue = async (
  request: Request<NodeContext>,
  { nodeId, type, priority = 'normal', expiresInMs }: NodePendingEnqueueParams,
) => {
  nodeOf(request, nodeId);
  const forMs = expiresInMs ?? WAITING_MS_DEFAULT;
  const at = request.context.clock.wallMs();
  // The queue holds one item per kind: two requests for the location return it once.
  const item = { itemId: type, kind: type, priority, expiresInMs: forMs };
  const message = { type: 'device.enqueue', ...item };
  await askDevice(scopeOf(request), nodeId, message, { repeatable: true });
  return {
    nodeId,
    revision: at,
    queued: { id: type, type, priority, createdAtMs: at, expiresAtMs: at + forMs },
    wakeTriggered: false,
  };
};

const scopeOf = (request: Request<NodeContext>): DeviceScope => ({
  ...request.context,
  principal: principalOf(request),
  traceId: request.traceId,
});

export const nodeTable: MethodTable<NodeContext & NodeCallContext> = [
  published('node.list', nodeList),
  published('node.describe', nodeDescribe),
  published('node.invoke', nodeInvoke),
  published('node.rename', nodeRename),
  published('node.pair.list', pairList),
  published('node.pair.approve', pairApprove),
  published('node.pair.reject', pairReject),
  published('node.pair.remove', pairRemove),
  published('node.pending.enqueue', pendingEnqueue),
  ...nodeCallTable,
];
