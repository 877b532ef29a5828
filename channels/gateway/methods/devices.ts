/** Letting devices in and taking their rights back: `device.pair.*`, `device.token.*` (GW3). */
import type { MethodTable } from './method.ts';

export const deviceTable: MethodTable = [];
