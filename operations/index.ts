/** All operations, by resource. */
import { actors } from './actors.ts';
import { approvals } from './approvals.ts';
import { charts } from './charts.ts';
import { conversations } from './conversations.ts';
import { deadLetters } from './dead-letters.ts';
import { decisions } from './decisions.ts';
import { keys } from './keys.ts';
import type { Resource } from './operation.ts';
import { schedules } from './schedules.ts';
import { slo } from './slo.ts';
import { subagents } from './subagents.ts';
import { traces } from './traces.ts';
import { usage } from './usage.ts';

export const RESOURCES: readonly Resource[] = [
  approvals,
  schedules,
  conversations,
  subagents,
  decisions,
  keys,
  deadLetters,
  usage,
  traces,
  actors,
  charts,
  slo,
];
