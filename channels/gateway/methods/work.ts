/** Tasks and messages outward: `tasks.*`, `send`. */
import type { MethodTable } from './method.ts';

export const workTable: MethodTable = [];
