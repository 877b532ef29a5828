/**
 * Devices of a tenant: finds their rows, and sends orders to their actors. An entry point decides
 * beforehand whether the caller may give the order. The runtime is loaded when it runs
 * (ask-actor.ts).
 */
import {
  deviceAddress,
  type DeviceApprove,
  type DeviceReject,
  type DeviceRemove,
  type DeviceRename,
  type DeviceRevoke,
  type DeviceRole,
  type DeviceRow,
  type DeviceToken,
  DEVICES_INDEX,
  DEVICES_MAX,
  type PairingRequest,
} from '../../protocols/device.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { PairedDevice } from '../../protocols/gateway/index.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { Principal, System } from '../../runtime/index.ts';
import { pairedDevice } from './device-rows.ts';

const ANSWER_MS = 30_000;

export type DeviceRows = { readonly system: Pick<System, 'index'>; readonly tenant: string };
export type DeviceScope = DeviceRows & {
  readonly system: Pick<System, 'index' | 'ask'>;
  readonly principal: Principal;
};

export const deviceRows = ({ system, tenant }: DeviceRows): readonly DeviceRow[] =>
  system.index
    .list<DeviceRow>(DEVICES_INDEX, tenant, { limit: DEVICES_MAX })
    .map(({ value }) => value);

/** @throws TroupeError NOT_FOUND */
export function deviceRow({ system, tenant }: DeviceRows, deviceId: string): DeviceRow {
  const row = system.index.get<DeviceRow>(DEVICES_INDEX, tenant, deviceId);
  if (row !== undefined) return row;
  throw new TroupeError('NOT_FOUND', 'unknown deviceId: see device.pair.list');
}

/** The pairing request and its device row. @throws TroupeError NOT_FOUND */
export function pairingRequest(
  scope: DeviceRows,
  requestId: string,
): { readonly row: DeviceRow; readonly asked: PairingRequest } {
  for (const row of deviceRows(scope)) {
    const asked = row.requests.find((request) => request.requestId === requestId);
    if (asked !== undefined) return { row, asked };
  }
  throw new TroupeError('NOT_FOUND', 'unknown requestId: the request was answered, or it expired');
}

/** @throws TroupeError NOT_FOUND, and with which the device refuses */
export async function approveDevice(
  scope: DeviceScope,
  requestId: string,
): Promise<{ readonly requestId: string; readonly device: PairedDevice }> {
  const { row } = pairingRequest(scope, requestId);
  const message: DeviceApprove = { type: 'device.approve', requestId };
  const after = await askDevice<DeviceRow>(scope, row.deviceId, message);
  return { requestId, device: pairedDevice(after)! };
}

/** @throws TroupeError as `approveDevice` */
export async function rejectDevice(
  scope: DeviceScope,
  requestId: string,
): Promise<{ readonly requestId: string; readonly deviceId: string }> {
  const { deviceId } = pairingRequest(scope, requestId).row;
  const message: DeviceReject = { type: 'device.reject', requestId };
  await askDevice(scope, deviceId, message);
  return { requestId, deviceId };
}

/** Its tokens become invalid, and its connections are closed. @throws TroupeError NOT_FOUND */
export async function removeDevice(
  scope: DeviceScope,
  deviceId: string,
): Promise<{ readonly deviceId: string }> {
  deviceRow(scope, deviceId);
  const message: DeviceRemove = { type: 'device.remove' };
  await askDevice(scope, deviceId, message);
  return { deviceId };
}

/** @throws TroupeError NOT_FOUND; INVALID_ARGUMENT for a blank name */
export async function renameDevice(
  scope: DeviceScope,
  deviceId: string,
  label: string,
): Promise<{ readonly deviceId: string; readonly label: string }> {
  const name = plainName(label, label.length);
  if (name === '') throw new TroupeError('INVALID_ARGUMENT', '/label must not be blank');
  deviceRow(scope, deviceId);
  const message: DeviceRename = { type: 'device.rename', name };
  await askDevice(scope, deviceId, message);
  return { deviceId, label: name };
}

/** @throws TroupeError NOT_FOUND */
export async function revokeDevice(
  scope: DeviceScope,
  deviceId: string,
  role: DeviceRole,
): Promise<{ readonly deviceId: string; readonly role: DeviceRole; readonly revokedAtMs: number }> {
  if (deviceRow(scope, deviceId).roles[role] === undefined)
    throw new TroupeError('NOT_FOUND', `the device is not approved as ${role}`);
  const message: DeviceRevoke = { type: 'device.revoke', role };
  const row = await askDevice<DeviceRow>(scope, deviceId, message);
  return { deviceId, role, revokedAtMs: row.roles[role]?.revokedAt ?? Date.now() };
}

/** @throws TroupeError with which the device refuses; DEADLINE_EXCEEDED */
export async function askDevice<Result>(
  { system, tenant, principal }: DeviceScope,
  deviceId: string,
  message: DeviceApprove | DeviceReject | DeviceRemove | DeviceRename | DeviceToken | DeviceRevoke,
): Promise<Result> {
  const { askOrThrow } = await import('../../runtime/index.ts');
  return askOrThrow<Result>(system, deviceAddress(tenant, deviceId), message, {
    principal,
    timeoutMs: ANSWER_MS,
    timedOut: 'the device has not answered yet: list the devices to see its state',
  });
}
