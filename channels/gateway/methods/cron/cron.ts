/** `cron.*` and `wake`, over the schedule actor (AL11). */
import { cronJobTable } from './cron-jobs.ts';
import { cronRunTable } from './cron-runs.ts';
import type { MethodTable } from '../method.ts';
import { wakeTable } from '../chat/wake.ts';

export const cronTable: MethodTable = [...cronJobTable, ...cronRunTable, ...wakeTable];
