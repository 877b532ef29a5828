/** Jobs that send messages at times set before (AL11), and `wake`: `cron.*`. */
import type { EventArea, MethodArea } from './method.ts';

export const cronMethods = {} as const satisfies MethodArea;

export const cronEvents = {} as const satisfies EventArea;
