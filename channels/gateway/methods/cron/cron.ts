/** `cron.*` and `wake`. */
import { cronJobTable, type CronRunContext } from './cron-jobs.ts';
import { cronRunTable } from './cron-runs.ts';
import type { MethodTable } from '../method.ts';
import { type WakeContext, wakeTable } from '../chat/wake.ts';

export const cronTable: MethodTable<CronRunContext & WakeContext> = [
  ...cronJobTable,
  ...cronRunTable,
  ...wakeTable,
];
