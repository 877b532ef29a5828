/**
 * `node.*` methods that nodes call: results of commands, queued items, and approval requests. Other
 * messages of OpenClaw's node host are accepted and ignored; the answers say so.
 */
import type { TenantDevices } from '../../devices/tenant-devices.ts';
import { createHash } from 'node:crypto';
import {
  deviceAddress,
  type DeviceDrained,
  type WaitingItem,
} from '../../../../protocols/device.ts';
import {
  type ErrorData,
  errorData,
  isErrorCode,
  TroupeError,
} from '../../../../protocols/errors.ts';
import type {
  NodeApprovalAskParams,
  NodeInvokeResultParams,
  NodeWaitingItem,
} from '../../../../protocols/gateway/index.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../../protocols/json-depth.ts';
import type { Message } from '../../../../protocols/statechart.ts';
import { nodePrincipal } from '../../tenant/pending-approvals.ts';
import { ACCEPT_TIMEOUT_MS, NODE_QUESTIONS_MAX } from '../../limits.ts';
import {
  type ApprovalScope,
  requestApproval,
  waitForDecision,
} from '../approvals/request-approval.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';
import { askOrThrow } from '../../../../runtime/index.ts';

/** What requests that nodes send need. */
export type NodeCallContext = ApprovalScope & {
  readonly devices: Pick<TenantDevices, 'answered' | 'keep' | 'row'>;
};

/** The device id that the connection has authenticated. */
const selfOf = ({ connection }: Request<NodeCallContext>): string => {
  const deviceId = connection.client?.deviceId;
  if (deviceId !== undefined) return deviceId;
  throw new TroupeError('FORBIDDEN', 'a node must authenticate as a device: connect with `device`');
};

const invokeResult = async (request: Request<NodeCallContext>, params: NodeInvokeResultParams) => {
  const { context, connection } = request;
  const self = selfOf(request);
  if (params.nodeId !== self)
    throw new TroupeError('INVALID_ARGUMENT', '/nodeId is not the node of this connection');
  const said = await outcomeOf(request, params);
  const answer = (await askDevice(request, {
    type: 'device.result',
    id: params.id,
    connId: connection.id,
    ...said,
  })) as { taken: boolean };
  context.devices.answered(connection, params.id);
  return answer.taken ? { ok: true } : { ok: true, ignored: true };
};

const outcomeOf = async ({ context }: Request<NodeCallContext>, params: NodeInvokeResultParams) => {
  const { ok, error, payload, payloadJSON } = params;
  if (!ok) return { error: failureOf(error) };
  const text = payloadJSON ?? (payload === undefined ? undefined : JSON.stringify(payload));
  if (text === undefined) return {};
  if (isTooDeep(text)) {
    const message = `the node answered with JSON that is nested more than ${JSON_DEPTH_MAX} deep`;
    return { error: { code: 'INTERNAL' as const, message } };
  }
  try {
    JSON.parse(text);
    return { payload: await context.devices.keep(text) };
  } catch (thrown) {
    return {
      error:
        thrown instanceof SyntaxError
          ? { code: 'INTERNAL' as const, message: 'the node answered with text that is not JSON' }
          : errorData(thrown),
    };
  }
};

/**
 * Keeps the node's message, and maps its code to one of troupe's. An unknown code means that the
 * node failed.
 */
const failureOf = ({ code = '', message = 'the node failed' }: Failure = {}): ErrorData => {
  const known = isErrorCode(code) ? code : (NODE_ERROR_CODES[code] ?? 'INTERNAL');
  const shown = message.slice(0, 2_000);
  return known === code
    ? { code: known, message: shown }
    : { code: known, message: shown, details: { nodeCode: code.slice(0, 100) } };
};
type Failure = NonNullable<NodeInvokeResultParams['error']>;
const NODE_ERROR_CODES: Readonly<Record<string, ErrorData['code']>> = {
  INVALID_REQUEST: 'INVALID_ARGUMENT',
  INVALID_PARAMS: 'INVALID_ARGUMENT',
  SYSTEM_RUN_DENIED: 'FORBIDDEN',
  TIMEOUT: 'DEADLINE_EXCEEDED',
};

/** Progress is ignored: only the complete result counts. */
const invokeProgress = (request: Request<NodeCallContext>, { nodeId }: { nodeId: string }) => {
  if (nodeId !== selfOf(request))
    throw new TroupeError('INVALID_ARGUMENT', '/nodeId is not the node of this connection');
  return { ok: true };
};

const nodeEvent = (request: Request<NodeCallContext>, { event }: { event: string }) => {
  selfOf(request);
  return { ok: true, event, handled: false, reason: 'not_used' };
};

const drain = async (
  request: Request<NodeCallContext>,
  { maxItems = 10 }: { maxItems?: number },
) => {
  const nodeId = selfOf(request);
  const event = { type: 'device.drain', max: maxItems };
  const { items, more } = (await askDevice(request, event)) as DeviceDrained;
  return {
    nodeId,
    revision: Math.max(0, ...items.map(({ queuedAt }) => queuedAt)),
    items: items.map(itemOf),
    hasMore: more,
  };
};

const itemOf = ({ itemId, kind, priority, queuedAt, expiresAt }: WaitingItem): NodeWaitingItem => ({
  id: itemId,
  type: kind as NodeWaitingItem['type'],
  priority: priority === 'low' ? 'default' : priority,
  createdAtMs: queuedAt,
  expiresAtMs: expiresAt,
});

const ack = async (request: Request<NodeCallContext>, { ids }: { ids: string[] }) => {
  const nodeId = selfOf(request);
  await askDevice(request, { type: 'device.ack', itemIds: ids });
  const remainingCount = request.context.devices.row(nodeId)?.node?.waiting ?? 0;
  return { nodeId, ackedIds: ids, remainingCount };
};

/** Always empty: commands for a disconnected node are refused, not queued. */
const pull = (request: Request<NodeCallContext>) => ({ nodeId: selfOf(request), actions: [] });

/**
 * @throws TroupeError UNAVAILABLE while its commands require approval; the node then repeats the
 * request
 */
const runnerInventory = (request: Request<NodeCallContext>) => {
  const nodeId = selfOf(request);
  const waits = request.context.devices.row(nodeId)?.node?.request;
  if (waits === undefined) return { nodeId };
  throw new TroupeError(
    'UNAVAILABLE',
    `the node's commands require approval: \`troupe nodes approve ${waits.requestId}\``,
  );
};

const skills = (request: Request<NodeCallContext>) => ({ nodeId: selfOf(request), skills: [] });
const tools = (request: Request<NodeCallContext>) => ({ nodeId: selfOf(request), tools: [] });

/** @throws TroupeError RATE_LIMIT_EXCEEDED when the node has too many pending approvals */
const assertMayAsk = (
  { context, connection }: Request<NodeCallContext>,
  nodeId: string,
  id: string,
): void => {
  if (context.approvals.row(id) !== undefined) return;
  const waiting = context.approvals.ofNode(nodeId).length;
  const asking = questionsOf.get(connection) ?? 0;
  if (Math.max(waiting, asking) < NODE_QUESTIONS_MAX) return;
  throw new TroupeError(
    'RATE_LIMIT_EXCEEDED',
    `${NODE_QUESTIONS_MAX} approvals of this node are pending: repeat the request when some are decided`,
    { retryAfterMs: 1_000 },
  );
};

/** Pending requests of each connection, which count before their rows are committed. */
const questionsOf = new WeakMap<Request['connection'], number>();

/** Answers when an operator has decided. A repeated id waits for the same decision. */
const approvalAsk = async (request: Request<NodeCallContext>, params: NodeApprovalAskParams) => {
  const nodeId = selfOf(request);
  const { id, command, detail = '', timeoutMs, always = false } = params;
  const { connection } = request;
  const row = request.context.devices.row(nodeId);
  const name = row?.name ?? row?.face.name ?? nodeId.slice(0, 12);
  const own = `${nodeId.slice(0, 16)}.${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
  assertMayAsk(request, nodeId, own);
  questionsOf.set(connection, (questionsOf.get(connection) ?? 0) + 1);
  try {
    await requestApproval(request, {
      id: own,
      command,
      detail: `On the node ${name}: ${detail === '' ? command : detail}`,
      forMs: timeoutMs,
      always,
      by: { sub: nodePrincipal(nodeId), roles: ['node'] },
    });
    const { decision } = await waitForDecision(request, own);
    return { id, decision };
  } finally {
    questionsOf.set(connection, (questionsOf.get(connection) ?? 1) - 1);
  }
};

const askDevice = async (request: Request<NodeCallContext>, event: Message): Promise<unknown> => {
  const { context } = request;
  return askOrThrow(context.system, deviceAddress(context.tenant, selfOf(request)), event, {
    principal: principalOf(request),
    repeatable: true,
    timeoutMs: ACCEPT_TIMEOUT_MS,
    timedOut: 'the device did not answer in time: try again',
  });
};

export const nodeCallTable: MethodTable<NodeCallContext> = [
  published('node.invoke.result', invokeResult),
  published('node.invoke.progress', invokeProgress),
  published('node.event', nodeEvent),
  published('node.pending.drain', drain),
  published('node.pending.pull', pull),
  published('node.pending.ack', ack),
  published('node.runnerInventory.update', runnerInventory),
  published('node.skills.update', skills),
  published('node.pluginTools.update', tools),
  published('node.approval.ask', approvalAsk),
];
