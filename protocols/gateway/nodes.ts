/** Devices that do work (ND1): `node.*`. */
import type { EventArea, MethodArea } from './method.ts';

export const nodeMethods = {} as const satisfies MethodArea;

export const nodeEvents = {} as const satisfies EventArea;
