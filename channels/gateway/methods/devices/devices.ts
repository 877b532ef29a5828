/**
 * `device.pair.*` and `device.token.*`: approves devices and revokes their rights.
 *
 * Invariants: a client grants only scopes that it has; a device without the admin scope manages
 * only itself, and only its role `operator`.
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { DeviceGuard } from '../../auth/device-guard.ts';
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import type { Presence } from '../../tenant/presence.ts';
import type { Connection } from '../../transport/connection.ts';
import { DEVICE_ROLES, type DeviceRole, type DeviceRow } from '../../../../protocols/device.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { GatewayParams, GatewayResult, Scope } from '../../../../protocols/gateway/index.ts';
import {
  approveDevice,
  assertGranted,
  deviceRow,
  deviceRows,
  type DeviceScope,
  notApprovedAs,
  pairingRequest,
  rejectDevice,
  removeDevice,
  renameDevice,
  revokeDevice,
  rotateToken,
} from '../../../../operations/devices/change-device.ts';
import { pairedDevice, pendingDevice } from '../../../../operations/devices/device-rows.ts';
import { hashOfToken, newDeviceToken } from '../../../../operations/devices/device-tokens.ts';
import { scopeMissing } from '../../../../operations/devices/scopes.ts';
import { isOwnOf, missingDetails, needsAdmin } from './device-rights.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';

/** What pairing devices needs. */
export type DeviceContext = TenantScope & {
  readonly connections: Iterable<Connection>;
  readonly presence: Pick<Presence, 'entries'>;
  readonly guard: Pick<DeviceGuard, 'spare'>;
  readonly clock: Clock;
};

const pairList = ({ context }: Request<DeviceContext>): GatewayResult<'device.pair.list'> => {
  const connected = connectedDevices(context);
  const rows = deviceRows(context);
  const now = context.clock.wallMs();
  return {
    pending: rows.flatMap((row) =>
      row.requests
        .filter(({ expiresAt }) => expiresAt > now)
        .map((request) => pendingDevice(row, request)),
    ),
    paired: rows.flatMap((row) => pairedDevice(row, connected.has(row.deviceId)) ?? []),
  };
};

/** Devices that are connected to any gateway, as far as presence reports them. */
export const connectedDevices = ({
  presence,
  connections,
}: Pick<DeviceContext, 'presence' | 'connections'>): ReadonlySet<string> => {
  const ids = new Set<string>();
  for (const { deviceId } of presence.entries()) if (deviceId !== undefined) ids.add(deviceId);
  for (const { client } of connections) {
    if (client?.deviceId !== undefined) ids.add(client.deviceId);
  }
  return ids;
};

type ByRequest = GatewayParams<'device.pair.approve'>;

/** A request for scopes that the caller lacks stays pending for another operator. */
const pairApprove = async (request: Request<DeviceContext>, { requestId }: ByRequest) => {
  const { row, asked } = pairingRequest(request.context, requestId);
  assertMayManage(request, row.deviceId, asked.role, 'approval');
  const missing = scopeMissing(scopesOf(request), asked.scopes);
  if (missing !== undefined) throw missingScope(missing);
  return approveDevice(scopeOf(request), requestId);
};

const pairReject = async (request: Request<DeviceContext>, { requestId }: ByRequest) => {
  const { row } = pairingRequest(request.context, requestId);
  assertMayManage(request, row.deviceId, 'operator', 'rejection');
  return rejectDevice(scopeOf(request), requestId);
};

const pairRemove = async (
  request: Request<DeviceContext>,
  { deviceId }: GatewayParams<'device.pair.remove'>,
): Promise<GatewayResult<'device.pair.remove'>> => {
  const { context, connection } = request;
  assertMayManage(request, deviceId, managedRole(rowOf(request, deviceId)), 'removal');
  if (connection.client?.deviceId === deviceId) context.guard.spare(connection);
  return removeDevice(scopeOf(request), deviceId);
};

const pairRename = async (
  request: Request<DeviceContext>,
  { deviceId, label }: GatewayParams<'device.pair.rename'>,
): Promise<GatewayResult<'device.pair.rename'>> => {
  assertMayManage(request, deviceId, managedRole(rowOf(request, deviceId)), 'rename');
  return renameDevice(scopeOf(request), deviceId, label);
};

/** The token is useless without the device's key, so any client that may replace it receives it. */
const tokenRotate = async (
  request: Request<DeviceContext>,
  { deviceId, role: given, scopes }: GatewayParams<'device.token.rotate'>,
): Promise<GatewayResult<'device.token.rotate'>> => {
  const { context, connection } = request;
  const { role, grant } = grantOf(request, deviceId, given);
  assertMayManage(request, deviceId, role, 'token rotation');
  assertGranted(grant, scopes);
  const missing = scopeMissing(scopesOf(request), scopes ?? grant.scopes);
  if (missing !== undefined) throw missingScope(missing);
  const token = newDeviceToken();
  const { client } = connection;
  if (client?.deviceId === deviceId && client.role === role) {
    context.guard.spare(connection);
    connection.client = { ...client, tokenHash: hashOfToken(token) };
  }
  const rotated = await rotateToken(scopeOf(request), deviceId, role, { token, scopes });
  return {
    ...rotated,
    token,
    rotatedAtMs: context.clock.wallMs(),
    tokenDelivery: 'in-band',
  };
};

const tokenRevoke = async (
  request: Request<DeviceContext>,
  { deviceId, role: given }: GatewayParams<'device.token.revoke'>,
): Promise<GatewayResult<'device.token.revoke'>> => {
  const { context, connection } = request;
  const { role } = grantOf(request, deviceId, given);
  assertMayManage(request, deviceId, role, 'token revocation');
  if (connection.client?.deviceId === deviceId) context.guard.spare(connection);
  return revokeDevice(scopeOf(request), deviceId, role);
};

const rowOf = ({ context }: Request<DeviceContext>, deviceId: string): DeviceRow =>
  deviceRow(context, deviceId);

const scopeOf = (request: Request<DeviceContext>): DeviceScope => ({
  ...request.context,
  principal: principalOf(request),
});

const grantOf = (request: Request<DeviceContext>, deviceId: string, given: string) => {
  const row = rowOf(request, deviceId);
  const role = DEVICE_ROLES.find((each) => each === given);
  const grant = role && row.roles[role];
  if (role === undefined || grant === undefined) {
    throw notApprovedAs(given);
  }
  return { role, grant };
};

/** The role that decides who may manage the device. */
const managedRole = ({ roles }: DeviceRow): DeviceRole =>
  roles.node === undefined ? 'operator' : 'node';

const scopesOf = ({ connection }: Request<DeviceContext>): readonly Scope[] =>
  connection.client?.scopes ?? [];

/**
 * @throws TroupeError FORBIDDEN without the admin scope, when the device is not the caller's own,
 * or the
 *   request grants or revokes the role `node`
 */
const assertMayManage = (
  request: Request<DeviceContext>,
  deviceId: string,
  role: DeviceRole,
  what: string,
): void => {
  const { client } = request.connection;
  if (client === undefined || client.scopes.includes('operator.admin')) return;
  const own = isOwnOf(client, deviceId);
  const isTaking = what === 'removal' || what === 'rename';
  const isNode = role === 'node' && (client.deviceId !== undefined || !isTaking);
  if (own && !isNode) return;
  throw needsAdmin(`device pairing ${what}`, own ? 'of a node' : 'of another device');
};

const missingScope = (scope: string): TroupeError =>
  new TroupeError(
    'FORBIDDEN',
    `missing scope: ${scope}: a client can grant only scopes that it has`,
    {
      details: missingDetails(scope),
    },
  );

export const deviceTable: MethodTable<DeviceContext> = [
  published('device.pair.list', pairList),
  published('device.pair.approve', pairApprove),
  published('device.pair.reject', pairReject),
  published('device.pair.remove', pairRemove),
  published('device.pair.rename', pairRename),
  published('device.token.rotate', tokenRotate),
  published('device.token.revoke', tokenRevoke),
];
