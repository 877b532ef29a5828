/**
 * `node.*` methods for operators: list nodes, approve their commands, and invoke them.
 * node-calls.ts contains the methods that nodes call.
 *
 * The device actor decides which commands may be invoked. This file builds its messages, and
 * validates parameters against the schemas that the node declared.
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { TenantDevices } from '../../devices/tenant-devices.ts';
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import type { Presence } from '../../tenant/presence.ts';
import { createHash } from 'node:crypto';
import { defined } from '../../../../protocols/defined.ts';
import {
  DEVICE_ID,
  deviceAddress,
  type DeviceRow,
  INVOKE_MS_DEFAULT,
  INVOKE_MS_MAX,
  type InvocationDone,
  PARAMS_CHARACTERS_MAX,
  WAITING_MS_DEFAULT,
} from '../../../../protocols/device.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  NodeEntry,
  NodeInvokeParams,
  NodePendingEnqueueParams,
} from '../../../../protocols/gateway/index.ts';
import { plainName } from '../../../../protocols/plain-text.ts';
import type { Message } from '../../../../protocols/statechart.ts';
import { askOrThrow, schemaComplaint } from '../../../../runtime/index.ts';
import { ACCEPT_TIMEOUT_MS, INVOKE_GRACE_MS } from '../../limits.ts';
import {
  isNode,
  nodeEntry,
  pairedNode,
  pendingNode,
  scopesToApprove,
} from '../../../../operations/devices/node-rows.ts';
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
  const { context } = request;
  const { nodeId, command, timeoutMs = 0, idempotencyKey, sessionKey } = params;
  const row = nodeOf(request, nodeId);
  const given = params.params ?? {};
  await assertParams(row, command, given);
  const paramsJson = JSON.stringify(given);
  if (paramsJson.length > PARAMS_CHARACTERS_MAX) {
    throw new TroupeError(
      'PAYLOAD_TOO_LARGE',
      `/params has ${paramsJson.length} characters, at most ${PARAMS_CHARACTERS_MAX} are allowed`,
    );
  }
  const within = Math.min(timeoutMs || INVOKE_MS_DEFAULT, INVOKE_MS_MAX);
  const principal = principalOf(request);
  const result = (await askDevice(
    request,
    nodeId,
    {
      type: 'device.invoke',
      id: invocationId(principal.sub, idempotencyKey),
      command,
      paramsJson,
      timeoutMs: within,
      ...(sessionKey === undefined ? {} : { sessionKey: sessionKey.slice(0, 512) }),
    },
    within + INVOKE_GRACE_MS,
  )) as InvocationDone;
  const { payload } = result;
  const payloadJSON = payload === null ? null : await context.devices.text(payload);
  const shown = payloadJSON === null ? null : (JSON.parse(payloadJSON) as unknown);
  return { ok: true, nodeId, command, payload: shown, payloadJSON };
};

/** The same key of the same principal identifies one invocation, through any gateway. */
const invocationId = (sub: string, key: string): string =>
  `inv-${createHash('sha256').update(`${sub}\n${key}`).digest('hex').slice(0, 40)}`;

/** @throws TroupeError INVALID_ARGUMENT when the parameters do not match the command's schema */
const assertParams = async (row: DeviceRow, command: string, params: unknown): Promise<void> => {
  const schema = row.node?.surface.commands.find(({ name }) => name === command)?.params;
  if (schema === undefined) return;
  const wrong = await schemaComplaint(schema, params);
  if (wrong === undefined) return;
  throw new TroupeError('INVALID_ARGUMENT', `invalid parameters of ${command}: ${wrong}`);
};

const nodeRename = async (
  request: Request<NodeContext>,
  { nodeId, displayName }: { nodeId: string; displayName: string },
) => {
  nodeOf(request, nodeId);
  assertOwn(request.connection.client, nodeId, 'node pairing rename');
  const name = plainName(displayName, displayName.length);
  if (name === '') throw new TroupeError('INVALID_ARGUMENT', '/displayName must not be blank');
  await askDevice(request, nodeId, { type: 'device.rename', name });
  return { nodeId, displayName: name };
};

const pairList = ({ context }: Request<NodeContext>) => {
  const nodes = [...context.devices.rows()].filter(({ node }) => node !== undefined);
  return {
    pending: nodes.filter(({ node }) => node?.request !== undefined).map(pendingNode),
    paired: nodes.filter(({ node }) => node?.approvedAt !== undefined).map(pairedNode),
  };
};

const pairApprove = async (request: Request<NodeContext>, { requestId }: { requestId: string }) => {
  const row = rowOfRequest(request, requestId);
  assertOwn(request.connection.client, row.deviceId, 'node pairing approval');
  const scopes = request.connection.client?.scopes ?? [];
  const missing = scopesToApprove(row.node!).find(
    (scope) => !scopes.includes(scope) && !scopes.includes('operator.admin'),
  );
  if (missing !== undefined) {
    throw new TroupeError(
      'FORBIDDEN',
      `missing scope: ${missing}: the node's commands run programs`,
      { details: missingDetails(missing) },
    );
  }
  const approved = (await askDevice(request, row.deviceId, {
    type: 'device.surface.approve',
    requestId,
  })) as DeviceRow;
  return { requestId, node: pairedNode(approved) };
};

const pairReject = async (request: Request<NodeContext>, { requestId }: { requestId: string }) => {
  const { deviceId } = rowOfRequest(request, requestId);
  assertOwn(request.connection.client, deviceId, 'node pairing rejection');
  await askDevice(request, deviceId, { type: 'device.surface.reject', requestId });
  return { requestId, nodeId: deviceId };
};

const rowOfRequest = ({ context }: Request<NodeContext>, requestId: string): DeviceRow => {
  for (const row of context.devices.rows()) {
    if (row.node?.request?.requestId === requestId) return row;
  }
  throw new TroupeError(
    'NOT_FOUND',
    `no node has the pending request ${requestId.slice(0, 80)}: node.pair.list lists the requests`,
  );
};

/** @throws TroupeError CONFLICT for a device that is also approved as an operator */
const pairRemove = async (request: Request<NodeContext>, { nodeId }: { nodeId: string }) => {
  const { roles } = nodeOf(request, nodeId);
  assertOwn(request.connection.client, nodeId, 'node pairing removal');
  if (roles.operator !== undefined) {
    throw new TroupeError(
      'CONFLICT',
      'the device is also approved as an operator: device.pair.remove removes both roles',
    );
  }
  await askDevice(request, nodeId, { type: 'device.remove' });
  return { nodeId };
};

const pendingEnqueue = async (
  request: Request<NodeContext>,
  { nodeId, type, priority = 'normal', expiresInMs }: NodePendingEnqueueParams,
) => {
  nodeOf(request, nodeId);
  const forMs = expiresInMs ?? WAITING_MS_DEFAULT;
  const at = request.context.clock.wallMs();
  await askDevice(request, nodeId, {
    type: 'device.enqueue',
    // The queue holds one item per kind: two requests for the location return it once.
    itemId: type,
    kind: type,
    priority,
    expiresInMs: forMs,
  });
  return {
    nodeId,
    revision: at,
    queued: { id: type, type, priority, createdAtMs: at, expiresAtMs: at + forMs },
    wakeTriggered: false,
  };
};

/** @throws TroupeError the device's refusal; DEADLINE_EXCEEDED */
const askDevice = async (
  request: Request<NodeContext>,
  deviceId: string,
  event: Message,
  timeoutMs = ACCEPT_TIMEOUT_MS,
): Promise<unknown> => {
  const { context, traceId } = request;
  return askOrThrow(context.system, deviceAddress(context.tenant, deviceId), event, {
    principal: principalOf(request),
    repeatable: true,
    timeoutMs,
    timedOut: `device ${deviceId} did not answer ${event.type} within ${timeoutMs} ms`,
    ...defined({ traceId }),
  });
};

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
