/** Tasks and messages outward: `tasks.*`, `send`. */
import type { EventArea, MethodArea } from './method.ts';

export const workMethods = {} as const satisfies MethodArea;

export const workEvents = {} as const satisfies EventArea;
