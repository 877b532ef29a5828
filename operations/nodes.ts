/** Nodes: devices that execute commands. */
import { randomUUID } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { type DeviceRow, INVOKE_MS_DEFAULT, INVOKE_MS_MAX } from '../protocols/device.ts';
import { defined } from '../protocols/defined.ts';
import type { NodeEntry, NodePairPaired } from '../protocols/gateway/index.ts';
import { deviceNamed, deviceRows, deviceScope, renameDevice } from './devices/change-device.ts';
import { approveNode, invokeNode, rejectNode, removeNode } from './devices/change-node.ts';
import { isNode, nodeEntry } from './devices/node-rows.ts';
import { nodesText } from './devices/text.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';

const Id = Type.String({
  minLength: 1,
  description: 'Id of the node, at least 6 characters of it, or its name',
});
const Request = Type.Object({
  request: Type.String({ minLength: 1, description: 'Id of the request, from the list of nodes' }),
});
/** A command that answers slowly must not lose its answer. */
const WAIT_MORE_MS = 10_000;

/** Without live connections, rows say which gateway a node was connected to last. */
const entryOf = ({ live }: OperationContext, row: DeviceRow): NodeEntry =>
  nodeEntry(row, { isAlive: (gateway) => live?.isAlive(gateway) ?? true });

const nodeNamed = (context: OperationContext, id: string): DeviceRow =>
  deviceNamed(context, id, isNode);

const list = defineOperation({
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
  cli: {
    command: 'nodes list',
    connection: 'websocket',
    print: ({ nodes: listed }) => nodesText(listed, Date.now()),
  },
  run: (context) => ({
    nodes: deviceRows(context)
      .filter(isNode)
      .map((row) => entryOf(context, row)),
  }),
});

const show = defineOperation({
  name: 'nodes.show',
  scope: 'tenant',
  summary: 'Show a node with its commands, permissions and pending approval',
  params: Type.Object({ id: Id }),
  result: ObjectOf<NodeEntry>(),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'GET',
    path: '/v1/nodes/{id}',
    operationId: 'getNode',
    responses: { 200: 'The node' },
  },
  cli: {
    command: 'nodes describe',
    connection: 'websocket',
    args: ['id'],
    print: (node) => `${JSON.stringify(node, null, 2)}\n`,
  },
  run: (context, { id }) => entryOf(context, nodeNamed(context, id)),
});

const invoke = defineOperation({
  name: 'nodes.invoke',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'Execute a command on a node, and print the answer',
  params: Type.Object({
    id: Id,
    command: Type.String({ minLength: 1, maxLength: 128, description: 'As system.which' }),
    params: Type.Optional(Type.Unknown({ description: 'Parameters of the command; default {}' })),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: INVOKE_MS_MAX,
        description: `Time limit in milliseconds; default ${INVOKE_MS_DEFAULT}`,
      }),
    ),
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Idempotency key: a repeat returns the first answer',
      }),
    ),
  }),
  result: Type.Object({
    nodeId: Type.String(),
    command: Type.String(),
    payload: Type.Unknown({ description: 'The answer; null if the command has none' }),
  }),
  errors: [
    'INVALID_ARGUMENT',
    'NOT_FOUND',
    'CONFLICT',
    'FORBIDDEN',
    'PAYLOAD_TOO_LARGE',
    'UNAVAILABLE',
    'DEADLINE_EXCEEDED',
  ],
  http: {
    method: 'POST',
    path: '/v1/nodes/{id}/invoke',
    operationId: 'invokeNode',
    responses: { 200: 'The answer of the node' },
    bodyBytesMax: 1_048_576,
  },
  cli: {
    command: 'nodes invoke',
    connection: 'websocket',
    input: {
      schema: Type.Object({
        id: Id,
        command: Type.String({ description: 'As system.which' }),
        params: Type.Optional(Type.Unknown({ description: 'Parameters of the command' })),
        timeout: Type.Optional(
          Type.Integer({ description: `Time limit; default ${INVOKE_MS_DEFAULT / 1_000}` }),
        ),
        key: Type.Optional(
          Type.String({ description: 'Idempotency key: a repeat returns the first answer' }),
        ),
      }),
      toParams: ({ id, command, params, timeout, key }) => ({
        id: String(id),
        command: String(command),
        ...defined({ params, key: key as string | undefined }),
        ...(timeout === undefined ? {} : { timeoutMs: Number(timeout) * 1_000 }),
      }),
    },
    args: ['id', 'command'],
    flags: { params: '--params <json>', timeout: '--timeout <seconds>', key: '--key <key>' },
    examples: [`troupe nodes invoke box system.which --params '{"bins":["git"]}'`],
    waitMs: ({ timeoutMs = INVOKE_MS_DEFAULT }) => timeoutMs + WAIT_MORE_MS,
    print: ({ payload }) => `${JSON.stringify(payload, null, 2)}\n`,
  },
  async run(context, { id, key = randomUUID(), ...invocation }) {
    const row = nodeNamed(context, id);
    const text = await invokeNode(deviceScope(context), row, { ...invocation, key }, (payload) =>
      context.payloadText(context.tenant, payload),
    );
    const payload = text === null ? null : (JSON.parse(text) as unknown);
    return { nodeId: row.deviceId, command: invocation.command, payload };
  },
});

const approve = defineOperation({
  name: 'nodes.approve',
  scope: 'tenant',
  summary: 'Approve the commands of a node',
  params: Request,
  result: Type.Object({ requestId: Type.String(), node: ObjectOf<NodePairPaired>() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/node-requests/{request}/approve',
    operationId: 'approveNode',
    responses: { 200: 'The node with its approved commands' },
  },
  cli: {
    command: 'nodes approve',
    connection: 'websocket',
    args: ['request'],
    print: () => 'approved\n',
  },
  run: (context, { request }) => approveNode(deviceScope(context), request),
});

const reject = defineOperation({
  name: 'nodes.reject',
  scope: 'tenant',
  summary: 'Reject the commands of a node',
  params: Request,
  result: Type.Object({ requestId: Type.String(), nodeId: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/node-requests/{request}/reject',
    operationId: 'rejectNode',
    responses: { 200: 'Rejected' },
  },
  cli: {
    command: 'nodes reject',
    connection: 'websocket',
    args: ['request'],
    print: () => 'rejected\n',
  },
  run: (context, { request }) => rejectNode(deviceScope(context), request),
});

const rename = defineOperation({
  name: 'nodes.rename',
  scope: 'tenant',
  summary: 'Rename a node',
  params: Type.Object({
    id: Id,
    label: Type.String({ minLength: 1, maxLength: 64, description: 'Display name' }),
  }),
  result: Type.Object({ nodeId: Type.String(), label: Type.String() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/nodes/{id}/name',
    operationId: 'renameNode',
    responses: { 200: 'Renamed' },
  },
  cli: {
    command: 'nodes rename',
    connection: 'websocket',
    args: ['id', 'label'],
    print: ({ nodeId, label }) => `${nodeId.slice(0, 12)} is now named ${label}\n`,
  },
  async run(context, { id, label: given }) {
    const { deviceId: nodeId } = nodeNamed(context, id);
    const { label } = await renameDevice(deviceScope(context), nodeId, given);
    return { nodeId, label };
  },
});

const remove = defineOperation({
  name: 'nodes.remove',
  scope: 'tenant',
  summary: 'Remove a node: it must be paired again',
  params: Type.Object({ id: Id }),
  result: Type.Object({ nodeId: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/nodes/{id}',
    operationId: 'removeNode',
    responses: { 200: 'Removed' },
  },
  cli: {
    command: 'nodes remove',
    connection: 'websocket',
    args: ['id'],
    print: ({ nodeId }) => `${nodeId.slice(0, 12)} is removed\n`,
  },
  run: (context, { id }) => removeNode(deviceScope(context), nodeNamed(context, id)),
});

export const nodes: Resource = {
  name: 'nodes',
  operations: [list, show, invoke, approve, reject, rename, remove],
};
