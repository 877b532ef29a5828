/** Converts rows of nodes to the shapes of the gateway protocol. Pure. */
import { defined } from '../../protocols/defined.ts';
import type {
  DeviceChanged,
  DeviceRow,
  NodeState,
  PairingRequest,
} from '../../protocols/device.ts';
import type { NodeEntry, NodePairPaired, NodePairPending } from '../../protocols/gateway/index.ts';

/** Commands that run programs: only an admin may approve them. */
const RUNS_PROGRAMS = /^system\.(run|execApprovals\.)/;

/** Scopes that an operator needs to approve the node's commands. */
export const scopesToApprove = ({ surface }: NodeState) =>
  surface.commands.some(({ name }) => RUNS_PROGRAMS.test(name))
    ? (['operator.pairing', 'operator.admin'] as const)
    : (['operator.pairing'] as const);

/** Whether the device is approved as a node, or has connected as one. */
export const isNode = ({ roles, node }: DeviceRow): boolean =>
  roles.node !== undefined || node !== undefined;

/** Whether a gateway still runs, as far as the entry point knows. */
export type GatewayLife = { isAlive(gateway: string): boolean };

/** A node whose gateway crashed is disconnected, even if its row still has the connection. */
export const nodeEntry = (row: DeviceRow, peers: GatewayLife): NodeEntry => {
  const { node, roles } = row;
  const link = node?.link && peers.isAlive(node.link.gateway) ? node.link : undefined;
  const approvedAtMs = node?.approvedAt ?? roles.node?.approvedAt;
  const since = link?.since;
  return {
    ...faceOfRow(row),
    caps: node?.approvedAt === undefined ? [] : [...node.surface.caps],
    commands: node ? [...node.approved] : [],
    ...permissionsOf(node),
    ...schemasOf(node),
    sessionHost: false,
    nodePluginTools: [],
    ...(node?.surface.pathEnv === undefined ? {} : { pathEnv: node.surface.pathEnv }),
    ...approvalOf(node),
    ...(since === undefined ? {} : { connectedAtMs: since, lastConnectedAtMs: since }),
    ...(node ? { lastSeenAtMs: node.lastSeenAt, lastSeenReason: 'connect' } : {}),
    ...defined({ approvedAtMs }),
    paired: roles.node !== undefined,
    connected: link !== undefined,
  };
};

const approvalOf = (node: NodeState | undefined) => {
  if (node?.request !== undefined) {
    return {
      approvalState: 'pending-approval' as const,
      pendingRequestId: node.request.requestId,
      pendingDeclaredCaps: [...node.surface.caps],
      pendingDeclaredCommands: node.surface.commands.map(({ name }) => name),
    };
  }
  return {
    approvalState: node?.approvedAt === undefined ? ('unapproved' as const) : ('approved' as const),
  };
};

const permissionsOf = (node: NodeState | undefined) => {
  const words = node?.surface.permissions ?? {};
  if (Object.keys(words).length === 0) return {};
  const decided = Object.entries(words).filter(([, word]) => word !== 'undetermined');
  return {
    permissions: Object.fromEntries(decided.map(([name, word]) => [name, word === 'granted'])),
    permissionStates: { ...words },
  };
};

const schemasOf = (node: NodeState | undefined) => {
  const withSchema = (node?.surface.commands ?? []).filter(({ params }) => params !== undefined);
  if (withSchema.length === 0) return {};
  return {
    commandSchemas: Object.fromEntries(withSchema.map(({ name, params }) => [name, params!])),
  };
};

/** The pending approval of its commands. Requires `row.node.request`. */
export const pendingNode = (row: DeviceRow): NodePairPending => {
  const node = row.node!;
  return {
    requestId: node.request!.requestId,
    ...faceOfRow(row),
    caps: [...node.surface.caps],
    commands: node.surface.commands.map(({ name }) => name),
    requiredApproveScopes: [...scopesToApprove(node)],
    ts: node.request!.at,
  };
};

/** Its approved commands. Requires `row.node`. */
export const pairedNode = (row: DeviceRow): NodePairPaired => {
  const node = row.node!;
  return {
    ...faceOfRow(row),
    caps: [...node.surface.caps],
    commands: [...node.approved],
    createdAtMs: row.createdAt,
    approvedAtMs: node.approvedAt ?? row.createdAt,
    lastSeenAtMs: node.lastSeenAt,
    lastSeenReason: 'connect',
  };
};

const faceOfRow = ({ deviceId, face, name }: DeviceRow) => {
  const { clientId, clientMode, version, platform, deviceFamily, modelIdentifier } = face;
  const shown = name ?? face.name;
  return {
    nodeId: deviceId,
    ...defined({
      displayName: shown,
      clientId,
      clientMode,
      version,
      platform,
      deviceFamily,
      modelIdentifier,
      remoteIp: face.ip,
    }),
  };
};

/** Payload of `device.pair.requested`. */
export const pairRequested = ({ deviceId, publicKey }: DeviceRow, request: PairingRequest) => {
  const { requestId, role, scopes, reason, at, face } = request;
  const { name, platform, deviceFamily, clientId, clientMode, ip } = face;
  return {
    requestId,
    deviceId,
    publicKey,
    ...defined({ displayName: name, platform, deviceFamily, clientId, clientMode }),
    role,
    roles: [role],
    scopes: [...scopes],
    ...defined({ remoteIp: ip }),
    silent: false,
    isRepair: reason !== 'not-paired',
    ts: at,
  };
};

/** Payload of `device.pair.resolved`. */
export const pairResolved = (
  requestId: string,
  deviceId: string,
  decision: 'approved' | 'rejected' | 'expired',
  ts: number,
) => ({ requestId, deviceId, decision, ts });

/** Payload of `device.pair.changed`: clients read the devices again. */
export const pairChange = (deviceId: string, what: DeviceChanged['what'], ts: number) => ({
  deviceId,
  reason: what,
  ts,
});
