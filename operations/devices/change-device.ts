/**
 * Devices of a tenant: finds their rows, and sends orders to their actors. An entry point decides
 * beforehand whether the caller may give the order. The runtime is loaded when it runs
 * (ask-actor.ts).
 */
import {
  deviceAddress,
  type DeviceApprove,
  type DeviceGrant,
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
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type PairedDevice, SCOPES } from '../../protocols/gateway/index.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { Message } from '../../protocols/statechart.ts';
import { askOrThrow, type Principal, type System } from '../../runtime/index.ts';
import type { OperationContext } from '../operation.ts';
import { pairedDevice } from './device-rows.ts';
import { hashOfToken } from './device-tokens.ts';
import { scopeMissing } from './scopes.ts';

const ANSWER_MS = 30_000;
const PREFIX_CHARACTERS_MIN = 6;

export type DeviceRows = { readonly system: Pick<System, 'index'>; readonly tenant: string };
export type DeviceScope = DeviceRows & {
  readonly system: Pick<System, 'index' | 'ask'>;
  readonly principal: Principal;
  readonly traceId?: string | undefined;
};

/** On behalf of the caller of an operation. */
export const deviceScope = ({ system, tenant, caller }: OperationContext): DeviceScope => ({
  system,
  tenant,
  principal: { sub: caller.sub, roles: ['operator'] },
});

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

/**
 * The device that a person names: its id, at least the first six characters of it, or its name.
 * @param isMeant devices that are not meant are not found
 * @throws TroupeError NOT_FOUND; CONFLICT when several devices match
 */
export function deviceNamed(
  scope: DeviceRows,
  named: string,
  isMeant: (row: DeviceRow) => boolean = isPaired,
): DeviceRow {
  const rows = deviceRows(scope).filter(isMeant);
  // An id always means its device, whatever name another one has given itself.
  const exact = rows.find(({ deviceId }) => deviceId === named);
  if (exact) return exact;
  const [found, another] = rows.filter(
    ({ deviceId, name, face }) =>
      (name ?? face.name) === named ||
      (named.length >= PREFIX_CHARACTERS_MIN && deviceId.startsWith(named)),
  );
  const shown = named.slice(0, 80);
  if (another) throw new TroupeError('CONFLICT', `several devices match ${shown}: use the id`);
  if (found) return found;
  throw new TroupeError('NOT_FOUND', `no device matches ${shown}: see the list`);
}

const isPaired = ({ roles }: DeviceRow): boolean => Object.keys(roles).length > 0;

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
  if (name === '') throw new TroupeError('INVALID_ARGUMENT', 'the name must not be blank');
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
  if (deviceRow(scope, deviceId).roles[role] === undefined) throw notApprovedAs(role);
  const message: DeviceRevoke = { type: 'device.revoke', role };
  const row = await askDevice<DeviceRow>(scope, deviceId, message);
  return { deviceId, role, revokedAtMs: row.roles[role]?.revokedAt ?? Date.now() };
}

/**
 * Replaces the token of a device; the caller sends it to the device.
 * @param scopes of the token; default those of the device
 * @throws TroupeError NOT_FOUND; INVALID_ARGUMENT for a scope that the device does not have
 */
export async function rotateToken(
  scope: DeviceScope,
  deviceId: string,
  role: DeviceRole,
  { token, scopes }: { readonly token: string; readonly scopes?: readonly string[] | undefined },
): Promise<{ readonly deviceId: string; readonly role: string; readonly scopes: string[] }> {
  const grant = deviceRow(scope, deviceId).roles[role];
  if (!grant) throw notApprovedAs(role);
  assertGranted(grant, scopes);
  const hash = hashOfToken(token);
  const message: DeviceToken = { type: 'device.token', role, hash, replace: true };
  await askDevice(scope, deviceId, { ...message, ...defined({ scopes }) });
  return { deviceId, role, scopes: [...(scopes ?? grant.scopes)] };
}

/** @throws TroupeError INVALID_ARGUMENT for a scope that the device does not have */
export function assertGranted(
  grant: Pick<DeviceGrant, 'scopes'>,
  scopes: readonly string[] = [],
): void {
  const granted = SCOPES.filter((each) => grant.scopes.includes(each));
  const wide =
    scopes.find((each) => !SCOPES.some((one) => one === each)) ?? scopeMissing(granted, scopes);
  if (wide === undefined) return;
  throw new TroupeError('INVALID_ARGUMENT', `/scopes: ${wide} is not granted to this device`);
}

export const notApprovedAs = (role: string): TroupeError =>
  new TroupeError('NOT_FOUND', `the device is not approved as ${role.slice(0, 64)}`);

export type AskDeviceOptions = {
  /** default 30,000 */
  readonly timeoutMs?: number;
  /** the device accepts the message again: it is sent again until it answers */
  readonly repeatable?: true;
};

/** @throws TroupeError with which the device refuses; DEADLINE_EXCEEDED */
export async function askDevice<Result>(
  { system, tenant, principal, traceId }: DeviceScope,
  deviceId: string,
  message: Message,
  { timeoutMs = ANSWER_MS, ...options }: AskDeviceOptions = {},
): Promise<Result> {
  return askOrThrow<Result>(system, deviceAddress(tenant, deviceId), message, {
    principal,
    timeoutMs,
    timedOut: `device ${deviceId} did not answer ${message.type} within ${timeoutMs} ms`,
    ...options,
    ...defined({ traceId }),
  });
}
