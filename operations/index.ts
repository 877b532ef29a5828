/** All operations, by resource. */
import { actors } from './actors.ts';
import { agents } from './agents.ts';
import { approvals } from './approvals.ts';
import { audit } from './audit.ts';
import { calls } from './calls.ts';
import { channels } from './channels.ts';
import { charts } from './charts.ts';
import { cluster } from './cluster.ts';
import { conversations } from './conversations.ts';
import { deadLetters } from './dead-letters.ts';
import { decisions } from './decisions.ts';
import { devices } from './devices.ts';
import { effects } from './effects.ts';
import { erasures } from './erasures.ts';
import { keys } from './keys.ts';
import { legalHolds } from './legal-holds.ts';
import { memory } from './memory.ts';
import { nodes } from './nodes.ts';
import type { Resource } from './operation.ts';
import { pairing } from './pairing.ts';
import { plugins } from './plugins.ts';
import { retention } from './retention.ts';
import { runs } from './runs.ts';
import { schedules } from './schedules.ts';
import { settings } from './settings.ts';
import { sessions } from './sessions.ts';
import { slo } from './slo.ts';
import { subagents } from './subagents.ts';
import { tasks } from './tasks.ts';
import { traces } from './traces.ts';
import { usage } from './usage.ts';
import { upgrade } from './upgrade.ts';

export const RESOURCES: readonly Resource[] = [
  sessions,
  runs,
  tasks,
  agents,
  approvals,
  schedules,
  conversations,
  calls,
  subagents,
  decisions,
  channels,
  pairing,
  devices,
  nodes,
  memory,
  plugins,
  effects,
  keys,
  deadLetters,
  usage,
  traces,
  actors,
  charts,
  slo,
  audit,
  erasures,
  legalHolds,
  retention,
  settings,
  cluster,
  upgrade,
];
