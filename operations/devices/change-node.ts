/**
 * Nodes of a tenant: finds them, decides about their commands, and invokes them. An entry point
 * decides beforehand whether the caller may give the order. The device actor decides which
 * commands may be invoked; parameters are checked against the schemas that the node declared.
 */
import { createHash } from 'node:crypto';
import {
  type DeviceRow,
  INVOKE_MS_DEFAULT,
  INVOKE_MS_MAX,
  type InvocationDone,
  PARAMS_CHARACTERS_MAX,
  type Payload,
} from '../../protocols/device.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { NodePairPaired } from '../../protocols/gateway/index.ts';
import { schemaComplaint } from '../../runtime/index.ts';
import { askDevice, deviceRows, type DeviceRows, type DeviceScope } from './change-device.ts';
import { pairedNode } from './node-rows.ts';

/** Added to the time limit of a command, because the device actor ends the command itself. */
const GRACE_MS = 5_000;

/** The node whose commands wait for an approval. @throws TroupeError NOT_FOUND */
export function nodeOfRequest(scope: DeviceRows, requestId: string): DeviceRow {
  const found = deviceRows(scope).find(({ node }) => node?.request?.requestId === requestId);
  if (found) return found;
  throw new TroupeError(
    'NOT_FOUND',
    `no node has the pending request ${requestId.slice(0, 80)}: list the nodes to see the requests`,
  );
}

/** Approves the commands that the node offers. @throws TroupeError NOT_FOUND, or its refusal */
export async function approveNode(
  scope: DeviceScope,
  requestId: string,
): Promise<{ readonly requestId: string; readonly node: NodePairPaired }> {
  const { deviceId } = nodeOfRequest(scope, requestId);
  const message = { type: 'device.surface.approve', requestId };
  const row = await askDevice<DeviceRow>(scope, deviceId, message, { repeatable: true });
  return { requestId, node: pairedNode(row) };
}

/** @throws TroupeError as `approveNode` */
export async function rejectNode(
  scope: DeviceScope,
  requestId: string,
): Promise<{ readonly requestId: string; readonly nodeId: string }> {
  const { deviceId } = nodeOfRequest(scope, requestId);
  const message = { type: 'device.surface.reject', requestId };
  await askDevice(scope, deviceId, message, { repeatable: true });
  return { requestId, nodeId: deviceId };
}

/**
 * It must be paired again.
 * @throws TroupeError CONFLICT for a device that is also approved as an operator
 */
export async function removeNode(
  scope: DeviceScope,
  { deviceId, roles }: DeviceRow,
): Promise<{ readonly nodeId: string }> {
  if (roles.operator !== undefined)
    throw new TroupeError(
      'CONFLICT',
      'the device is also approved as an operator: device.pair.remove removes both roles',
    );
  await askDevice(scope, deviceId, { type: 'device.remove' }, { repeatable: true });
  return { nodeId: deviceId };
}

export type Invocation = {
  readonly command: string;
  readonly params?: unknown;
  /** default INVOKE_MS_DEFAULT, at most INVOKE_MS_MAX */
  readonly timeoutMs?: number | undefined;
  /** a repeat of the same principal returns the first answer, through any gateway */
  readonly key: string;
  /** for which session */
  readonly sessionKey?: string | undefined;
};

/**
 * @param textOf reads an answer, which may be a file
 * @returns the answer as JSON text; null if the command has none
 * @throws TroupeError INVALID_ARGUMENT, PAYLOAD_TOO_LARGE; that of the node
 */
export async function invokeNode(
  scope: DeviceScope,
  row: DeviceRow,
  { command, params = {}, timeoutMs, key, sessionKey }: Invocation,
  textOf: (payload: Payload) => Promise<string>,
): Promise<string | null> {
  await assertParams(row, command, params);
  const paramsJson = JSON.stringify(params);
  if (paramsJson.length > PARAMS_CHARACTERS_MAX)
    throw new TroupeError(
      'PAYLOAD_TOO_LARGE',
      `/params has ${paramsJson.length} characters, at most ${PARAMS_CHARACTERS_MAX} are allowed`,
    );
  const within = Math.min(timeoutMs || INVOKE_MS_DEFAULT, INVOKE_MS_MAX);
  const message = {
    type: 'device.invoke',
    id: invocationId(scope.principal.sub, key),
    command,
    paramsJson,
    timeoutMs: within,
    ...defined({ sessionKey: sessionKey?.slice(0, 512) }),
  };
  const options = { repeatable: true, timeoutMs: within + GRACE_MS } as const;
  const { payload } = await askDevice<InvocationDone>(scope, row.deviceId, message, options);
  return payload === null ? null : textOf(payload);
}

const invocationId = (sub: string, key: string): string =>
  `inv-${createHash('sha256').update(`${sub}\n${key}`).digest('hex').slice(0, 40)}`;

/** @throws TroupeError INVALID_ARGUMENT when the parameters do not match the command's schema */
async function assertParams(row: DeviceRow, command: string, params: unknown): Promise<void> {
  const schema = row.node?.surface.commands.find(({ name }) => name === command)?.params;
  if (schema === undefined) return;
  const wrong = await schemaComplaint(schema, params);
  if (wrong === undefined) return;
  throw new TroupeError('INVALID_ARGUMENT', `invalid parameters of ${command}: ${wrong}`);
}
