/** Converts device rows to the shapes of the gateway protocol. Pure. */
import { defined } from '../../protocols/defined.ts';
import {
  type DeviceFace,
  type DeviceGrant,
  DEVICE_ROLES,
  type DeviceRow,
  type PairingRequest,
} from '../../protocols/device.ts';
import type { PairedDevice, PendingDevice } from '../../protocols/gateway/index.ts';

export const pendingDevice = (
  { deviceId, publicKey, roles }: DeviceRow,
  { requestId, role, scopes, reason, at, expiresAt, face }: PairingRequest,
): PendingDevice => ({
  requestId,
  deviceId,
  publicKey,
  ...shown(face, undefined),
  role,
  roles: [role],
  scopes: [...scopes],
  silent: false,
  isRepair: Object.keys(roles).length > 0,
  ts: at,
  reason,
  expiresAtMs: expiresAt,
});

/** Undefined for a device without approval. */
export const pairedDevice = (row: DeviceRow, connected?: boolean): PairedDevice | undefined => {
  const grants = DEVICE_ROLES.flatMap((role) => {
    const grant = row.roles[role];
    return grant === undefined ? [] : [{ role, grant }];
  });
  const last = grants.toSorted((a, b) => b.grant.approvedAt - a.grant.approvedAt)[0];
  if (last === undefined) return undefined;
  const { role, grant } = last;
  return {
    deviceId: row.deviceId,
    publicKey: row.publicKey,
    ...shown(row.face, row.name),
    role,
    roles: grants.map((each) => each.role),
    scopes: [...(row.roles.operator?.scopes ?? [])],
    approvedVia: grant.approvedBy === 'local' ? 'silent' : 'owner',
    approvedBy: grant.approvedBy,
    createdAtMs: row.createdAt,
    approvedAtMs: grant.approvedAt,
    ...defined({ connected }),
    tokens: grants.flatMap((each) => tokenOf(each.role, each.grant)),
  };
};

const tokenOf = (role: string, grant: DeviceGrant): PairedDevice['tokens'] => {
  const { tokenAt, revokedAt, tokenScopes, scopes } = grant;
  const createdAtMs = tokenAt ?? revokedAt;
  if (createdAtMs === undefined) return [];
  const isRevoked = grant.tokenHash === undefined && revokedAt !== undefined;
  return [
    {
      role,
      scopes: [...(tokenScopes ?? scopes)],
      createdAtMs,
      ...(isRevoked ? { revokedAtMs: revokedAt } : {}),
    },
  ];
};

const shown = (face: DeviceFace, operatorLabel: string | undefined) => {
  const { name, platform, deviceFamily, clientId, clientMode, ip } = face;
  const fields = {
    displayName: operatorLabel ?? name,
    platform,
    deviceFamily,
    clientId,
    clientMode,
    remoteIp: ip,
    operatorLabel,
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  );
};
