/** The user's settings for this device, stored in this browser: its name, and each capability. */
import { kept } from '../kept.ts';
import type { CapabilityName } from './capability.ts';

const OFF = 'troupe.node.off';
const NAME = 'troupe.node.name';
const TOKEN = 'troupe.node.token';

/** Until the user chooses: what shows this place or this screen is off. */
const OFF_AT_FIRST = 'camera screen';

export const switchedOff = (): ReadonlySet<CapabilityName> =>
  new Set((kept.getItem(OFF) ?? OFF_AT_FIRST).split(' ') as CapabilityName[]);

export const keepSwitch = (name: CapabilityName, on: boolean): void => {
  const off = new Set(switchedOff());
  if (on) off.delete(name);
  else off.add(name);
  kept.setItem(OFF, [...off].join(' ').trim());
};

export const deviceName = (): string => kept.getItem(NAME) ?? browserName();

export const keepName = (name: string): void => kept.setItem(NAME, name);

/** The device token, which the gateway issues to an approved device. */
export const deviceToken = (): string | undefined => kept.getItem(TOKEN) ?? undefined;

export const keepDeviceToken = (token: string): void => kept.setItem(TOKEN, token);

/** `Firefox on Linux`. */
const browserName = (): string => {
  const { userAgent } = navigator;
  const browser = /(Firefox|Edg|Chrome|Safari)\//.exec(userAgent)?.[1] ?? 'Browser';
  const system = /(Android|iPhone|iPad|Windows|Mac OS|Linux)/.exec(userAgent)?.[1];
  return `${browser === 'Edg' ? 'Edge' : browser}${system ? ` on ${system}` : ''}`;
};
