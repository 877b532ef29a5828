/** Devices that do work: `node.*` (ND1). */
import type { MethodTable } from './method.ts';

export const nodeTable: MethodTable = [];
