/** Letting devices in and taking their rights back (GW3): `device.pair.*`, `device.token.*`. */
import type { EventArea, MethodArea } from './method.ts';

export const deviceMethods = {} as const satisfies MethodArea;

export const deviceEvents = {} as const satisfies EventArea;
