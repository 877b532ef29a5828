/** `cron.*` and `wake`, over the schedule actor (AL11). */
import type { MethodTable } from './method.ts';

export const cronTable: MethodTable = [];
