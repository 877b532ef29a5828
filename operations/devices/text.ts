/** Devices and nodes as text for a terminal. */
import type { NodeEntry, PairedDevice, PendingDevice } from '../../protocols/gateway/index.ts';
import { ago, table } from '../text.ts';

type Listed = {
  readonly pending: readonly PendingDevice[];
  readonly paired: readonly PairedDevice[];
};

export function devicesText({ pending, paired }: Listed, now: number): string {
  if (pending.length + paired.length === 0) return 'no devices\n';
  const requested = table(
    ['request', 'device', 'role', 'scopes', 'from', 'requested', 'name'],
    pending.map((request) => requestCells(request, now)),
  );
  const approved = table(
    ['device', 'roles', 'scopes', 'tokens', 'connected', 'since', 'name'],
    paired.map((device) => deviceCells(device, now)),
  );
  return [
    ...(pending.length > 0
      ? [`pairing requests (troupe devices approve REQUEST)\n${requested}`]
      : []),
    ...(paired.length > 0 ? [approved] : []),
  ].join('\n');
}

export const labelOf = ({ displayName, clientId, deviceId }: PairedDevice): string =>
  displayName ?? clientId ?? deviceId;

const requestCells = (request: PendingDevice, now: number): string[] => [
  request.requestId,
  request.deviceId,
  request.role,
  request.scopes.map(shortScope).join(', '),
  request.remoteIp ?? 'this machine',
  `${ago(now - request.ts)} ago`,
  request.displayName ?? request.clientId ?? '',
];

const deviceCells = (device: PairedDevice, now: number): string[] => [
  device.deviceId,
  device.roles.join(', '),
  device.scopes.map(shortScope).join(', '),
  device.tokens
    .map(({ role, revokedAtMs }) => (revokedAtMs === undefined ? role : `${role} (revoked)`))
    .join(', '),
  device.connected ? 'yes' : '',
  `${ago(now - device.approvedAtMs)} ago`,
  device.displayName ?? device.clientId ?? '',
];

const shortScope = (scope: string): string => scope.replace(/^operator\./, '');

export function nodesText(nodes: readonly NodeEntry[], now: number): string {
  if (nodes.length === 0) return 'no nodes: `troupe node run` makes a machine a node\n';
  const head = ['node', 'name', 'platform', 'state', 'seen', 'commands'];
  const rows = nodes.map((node) => nodeCells(node, now));
  const waiting = nodes.flatMap(({ displayName, nodeId, pendingRequestId: request }) =>
    request === undefined
      ? []
      : [`\n${displayName ?? nodeId} waits for approval: troupe nodes approve ${request}\n`],
  );
  return table(head, rows) + waiting.join('');
}

const nodeCells = (node: NodeEntry, now: number): string[] => [
  node.nodeId.slice(0, 12),
  node.displayName ?? '',
  node.platform ?? '',
  `${node.connected ? 'connected' : 'disconnected'}, ${node.approvalState}`,
  node.lastSeenAtMs === undefined ? '' : `${ago(now - node.lastSeenAtMs)} ago`,
  node.commands.join(', '),
];
