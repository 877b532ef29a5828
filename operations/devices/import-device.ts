/** Adds a device that another installation approved: with its key, and without a token. */
import {
  type DeviceAsk,
  type DeviceAsked,
  deviceIdOf,
  type DeviceRow,
} from '../../protocols/device.ts';
import { askDevice, type DeviceScope } from './change-device.ts';

export type DeviceToImport = Pick<DeviceAsk, 'publicKey' | 'role' | 'scopes' | 'face'>;

/**
 * Approves the role in the name of the caller. May be repeated: an approved role with these scopes
 * is not changed.
 * @throws TroupeError with which the device refuses; DEADLINE_EXCEEDED
 */
export async function importDevice(
  scope: DeviceScope,
  device: DeviceToImport,
): Promise<{ readonly deviceId: string }> {
  const deviceId = deviceIdOf(device.publicKey);
  const ask: DeviceAsk = { type: 'device.ask', ...device };
  const asked = await askDevice<DeviceAsked>(scope, deviceId, ask);
  if (asked.state === 'pending') {
    const { requestId } = asked;
    await askDevice<DeviceRow>(scope, deviceId, { type: 'device.approve', requestId });
  }
  return { deviceId };
}
