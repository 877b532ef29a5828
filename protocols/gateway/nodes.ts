/**
 * `node.*`: devices that execute commands. Names, params and published results follow the published
 * protocol; other results follow what OpenClaw's clients read.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../any-key.ts';
import { checker } from '../check.ts';
import { PERMISSIONS } from '../device.ts';
import type { EventArea, MethodArea } from './method.ts';
import {
  AnyObject,
  closed,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  oneOf,
  Optional,
  Text,
} from './shapes.ts';

/** Maximum length of a `chunk` of progress, and of an input. */
const CHUNK_CHARACTERS_MAX = 16_384;

/**
 * Extension: the field `troupe` of a node's `connect`. The published fields lack the schema of a
 * command's parameters, the third state of a permission, and that the node stores answers by key.
 */
export const NodeClaims = Type.Object(
  {
    /** by command name, as in `commands` */
    commands: Optional(
      Type.Record(
        AnyKey,
        Type.Object(
          {
            params: Optional(AnyObject),
            description: Optional(Type.String({ maxLength: 500 })),
          },
          closed,
        ),
      ),
    ),
    permissions: Optional(Type.Record(AnyKey, oneOf(PERMISSIONS))),
    /** the node answers a repeated command from its stored answers */
    replays: Optional(Type.Boolean()),
  },
  closed,
);
export type NodeClaims = Static<typeof NodeClaims>;
export const checkNodeClaims = checker(NodeClaims);

/** A node in `node.list` and `node.describe`. Times: epoch ms. */
const nodeFields = {
  nodeId: NonEmpty,
  displayName: Optional(NonEmpty),
  platform: Optional(NonEmpty),
  version: Optional(NonEmpty),
  clientId: Optional(NonEmpty),
  clientMode: Optional(NonEmpty),
  deviceFamily: Optional(NonEmpty),
  modelIdentifier: Optional(NonEmpty),
  remoteIp: Optional(NonEmpty),
  /** the approved ones; those that wait for approval are in `pendingDeclared…` */
  caps: Type.Array(Text),
  commands: Type.Array(Text),
  /** true, false; absent: the device asks its owner */
  permissions: Optional(Type.Record(AnyKey, Type.Boolean())),
  /** extension: the three states */
  permissionStates: Optional(Type.Record(AnyKey, oneOf(PERMISSIONS))),
  /** extension: parameter schemas of the commands that have one */
  commandSchemas: Optional(Type.Record(AnyKey, AnyObject)),
  /** a node runs no sessions */
  sessionHost: Type.Literal(false),
  nodePluginTools: Type.Array(Type.Never()),
  pathEnv: Optional(Text),
  approvalState: oneOf(['approved', 'pending-approval', 'unapproved']),
  pendingRequestId: Optional(NonEmpty),
  pendingDeclaredCaps: Optional(Type.Array(Text)),
  pendingDeclaredCommands: Optional(Type.Array(Text)),
  connectedAtMs: Optional(Count),
  lastConnectedAtMs: Optional(Count),
  lastSeenAtMs: Optional(Count),
  lastSeenReason: Optional(NonEmpty),
  approvedAtMs: Optional(Count),
  paired: Type.Boolean(),
  connected: Type.Boolean(),
};
export const NodeEntry = Type.Object(nodeFields, closed);
export type NodeEntry = Static<typeof NodeEntry>;
const NodeDescribeResult = Type.Object({ ts: Count, ...nodeFields }, closed);

/** A node's commands before and after an operator's decision. */
const pairFields = {
  nodeId: NonEmpty,
  clientId: Optional(NonEmpty),
  clientMode: Optional(NonEmpty),
  displayName: Optional(NonEmpty),
  platform: Optional(NonEmpty),
  version: Optional(NonEmpty),
  deviceFamily: Optional(NonEmpty),
  modelIdentifier: Optional(NonEmpty),
  remoteIp: Optional(NonEmpty),
  caps: Type.Array(Text),
  commands: Type.Array(Text),
};
export const NodePairPending = Type.Object(
  { requestId: NonEmpty, ...pairFields, requiredApproveScopes: Type.Array(Text), ts: Count },
  closed,
);
export type NodePairPending = Static<typeof NodePairPending>;
export const NodePairPaired = Type.Object(
  {
    ...pairFields,
    createdAtMs: Count,
    approvedAtMs: Count,
    lastSeenAtMs: Optional(Count),
    lastSeenReason: Optional(NonEmpty),
  },
  closed,
);
export type NodePairPaired = Static<typeof NodePairPaired>;

const ById = Type.Object({ nodeId: NonEmpty }, closed);
const ByRequest = Type.Object({ requestId: NonEmpty }, closed);

export const NodeInvokeParams = Type.Object(
  {
    nodeId: NonEmpty,
    command: NonEmpty,
    params: Optional(Type.Unknown()),
    /** 0 or absent: 30,000 */
    timeoutMs: Optional(Count),
    idempotencyKey: NonEmpty,
    sessionKey: Optional(NonEmpty),
    turnSourceChannel: NoEffect(
      Text,
      'the audit records the caller; the origin of a turn is not sent to nodes',
    ),
    turnSourceTo: NoEffect(
      Text,
      'the audit records the caller; the origin of a turn is not sent to nodes',
    ),
    turnSourceAccountId: NoEffect(
      Text,
      'the audit records the caller; the origin of a turn is not sent to nodes',
    ),
    turnSourceThreadId: NoEffect(
      Type.Union([Text, Type.Number()]),
      'the audit records the caller; the origin of a turn is not sent to nodes',
    ),
  },
  closed,
);
export type NodeInvokeParams = Static<typeof NodeInvokeParams>;
const NodeInvokeResult = Type.Object({
  ok: Type.Literal(true),
  nodeId: NonEmpty,
  command: NonEmpty,
  payload: Optional(Type.Unknown()),
  payloadJSON: Nullable(Text),
});

export const NodeInvokeResultParams = Type.Object(
  {
    id: NonEmpty,
    nodeId: NonEmpty,
    ok: Type.Boolean(),
    payload: Optional(Type.Unknown()),
    payloadJSON: Optional(Text),
    error: Optional(Type.Object({ code: Optional(NonEmpty), message: Optional(NonEmpty) }, closed)),
  },
  closed,
);
export type NodeInvokeResultParams = Static<typeof NodeInvokeResultParams>;

const NodeInvokeProgressParams = Type.Object(
  {
    invokeId: NonEmpty,
    nodeId: NonEmpty,
    seq: Count,
    chunk: Type.String({ maxLength: CHUNK_CHARACTERS_MAX }),
  },
  closed,
);

const NodeEventParams = Type.Object(
  { event: NonEmpty, payload: Optional(Type.Unknown()), payloadJSON: Optional(Text) },
  closed,
);
const NodeEventResult = Type.Object(
  { ok: Type.Boolean(), event: NonEmpty, handled: Type.Boolean(), reason: Optional(NonEmpty) },
  closed,
);

const WAITING_TYPES = ['status.request', 'location.request'] as const;
const WaitingItem = Type.Object(
  {
    id: NonEmpty,
    type: oneOf(WAITING_TYPES),
    priority: oneOf(['default', 'normal', 'high']),
    createdAtMs: Count,
    expiresAtMs: Optional(Nullable(Count)),
    payload: Optional(AnyObject),
  },
  closed,
);
export type NodeWaitingItem = Static<typeof WaitingItem>;
export const NodePendingEnqueueParams = Type.Object(
  {
    nodeId: NonEmpty,
    type: oneOf(WAITING_TYPES),
    priority: Optional(oneOf(['normal', 'high'])),
    expiresInMs: Optional(Type.Integer({ minimum: 1_000, maximum: 86_400_000 })),
    wake: Optional(Type.Boolean()),
  },
  closed,
);
export type NodePendingEnqueueParams = Static<typeof NodePendingEnqueueParams>;

/** Extension: a node asks operators for approval before it executes a command. */
export const NodeApprovalAskParams = Type.Object(
  {
    /** a repeat with the same id is the same approval */
    id: Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,128}$' }),
    command: Type.String({ minLength: 1, maxLength: 8_192 }),
    detail: Optional(Type.String({ maxLength: 4_096 })),
    /** time for the decision */
    timeoutMs: Type.Integer({ minimum: 1_000, maximum: 86_400_000 }),
    /** `allow-always` is offered */
    always: Optional(Type.Boolean()),
    sessionKey: Optional(NonEmpty),
  },
  closed,
);
export type NodeApprovalAskParams = Static<typeof NodeApprovalAskParams>;

const ofNode = 'node' as const;
export const nodeMethods = {
  'node.list': {
    params: Type.Object({}, closed),
    result: Type.Object({ ts: Count, nodes: Type.Array(NodeEntry) }, closed),
    scope: 'operator.read',
  },
  'node.describe': { params: ById, result: NodeDescribeResult, scope: 'operator.read' },
  'node.invoke': { params: NodeInvokeParams, result: NodeInvokeResult, scope: 'operator.write' },
  'node.rename': {
    params: Type.Object(
      { nodeId: NonEmpty, displayName: Type.String({ minLength: 1, maxLength: 120 }) },
      closed,
    ),
    result: Type.Object({ nodeId: NonEmpty, displayName: NonEmpty }, closed),
    scope: 'operator.pairing',
  },
  'node.pair.list': {
    params: Type.Object({}, closed),
    result: Type.Object(
      { pending: Type.Array(NodePairPending), paired: Type.Array(NodePairPaired) },
      closed,
    ),
    scope: 'operator.pairing',
  },
  'node.pair.approve': {
    params: ByRequest,
    result: Type.Object({ requestId: NonEmpty, node: NodePairPaired }, closed),
    scope: 'operator.pairing',
  },
  'node.pair.reject': {
    params: ByRequest,
    result: Type.Object({ requestId: NonEmpty, nodeId: NonEmpty }, closed),
    scope: 'operator.pairing',
  },
  'node.pair.remove': { params: ById, result: ById, scope: 'operator.pairing' },
  'node.pending.enqueue': {
    params: NodePendingEnqueueParams,
    result: Type.Object(
      { nodeId: NonEmpty, revision: Count, queued: WaitingItem, wakeTriggered: Type.Boolean() },
      closed,
    ),
    scope: 'operator.write',
  },
  'node.invoke.result': {
    params: NodeInvokeResultParams,
    result: Type.Object({ ok: Type.Literal(true), ignored: Optional(Type.Boolean()) }, closed),
    scope: ofNode,
  },
  'node.invoke.progress': {
    params: NodeInvokeProgressParams,
    result: Type.Object({ ok: Type.Literal(true) }, closed),
    scope: ofNode,
  },
  'node.event': { params: NodeEventParams, result: NodeEventResult, scope: ofNode },
  'node.pending.drain': {
    params: Type.Object({ maxItems: Optional(Type.Integer({ minimum: 1, maximum: 10 })) }, closed),
    result: Type.Object(
      {
        nodeId: NonEmpty,
        revision: Count,
        items: Type.Array(WaitingItem),
        hasMore: Type.Boolean(),
      },
      closed,
    ),
    scope: ofNode,
  },
  'node.pending.pull': {
    params: Type.Object({}, closed),
    result: Type.Object({ nodeId: NonEmpty, actions: Type.Array(Type.Never()) }, closed),
    scope: ofNode,
  },
  'node.pending.ack': {
    params: Type.Object({ ids: Type.Array(NonEmpty, { minItems: 1, maxItems: 100 }) }, closed),
    result: Type.Object(
      { nodeId: NonEmpty, ackedIds: Type.Array(NonEmpty), remainingCount: Count },
      closed,
    ),
    scope: ofNode,
  },
  'node.runnerInventory.update': { params: AnyObject, result: ById, scope: ofNode },
  'node.skills.update': {
    params: AnyObject,
    result: Type.Object({ nodeId: NonEmpty, skills: Type.Array(Type.Never()) }, closed),
    scope: ofNode,
  },
  'node.pluginTools.update': {
    params: AnyObject,
    result: Type.Object({ nodeId: NonEmpty, tools: Type.Array(Type.Never()) }, closed),
    scope: ofNode,
  },
  'node.approval.ask': {
    params: NodeApprovalAskParams,
    result: Type.Object(
      { id: NonEmpty, decision: Nullable(oneOf(['allow-once', 'allow-always', 'deny'])) },
      closed,
    ),
    scope: ofNode,
  },
} as const satisfies MethodArea;

/** To a node. `id` is also the idempotency key of the invocation. */
export const NodeInvokeRequestEvent = Type.Object(
  {
    id: NonEmpty,
    nodeId: NonEmpty,
    command: NonEmpty,
    paramsJSON: Optional(Text),
    timeoutMs: Optional(Count),
    idempotencyKey: Optional(NonEmpty),
  },
  closed,
);
export type NodeInvokeRequestEvent = Static<typeof NodeInvokeRequestEvent>;

export const nodeEvents = {
  'node.invoke.request': NodeInvokeRequestEvent,
  /** to a node: no caller waits for the answer any more */
  'node.invoke.cancel': Type.Object({ invokeId: NonEmpty, nodeId: NonEmpty }, closed),
  /** extension, to a node: an item is queued for it; `node.pending.drain` returns it */
  'node.pending.available': ById,
  'node.pair.requested': NodePairPending,
  'node.pair.resolved': Type.Object(
    {
      requestId: NonEmpty,
      nodeId: NonEmpty,
      decision: oneOf(['approved', 'rejected']),
      ts: Count,
    },
    closed,
  ),
  /** a node connected or disconnected; to every operator with the read scope */
  'node.presence': Type.Object({ nodeId: NonEmpty, connected: Type.Boolean(), ts: Count }, closed),
  'node.runnerInventory.changed': ById,
} as const satisfies EventArea;
