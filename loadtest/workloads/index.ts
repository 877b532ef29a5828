/** The workloads by name, as `--mix` names them. */
import { chats } from './chats.ts';
import { envelopes } from './envelopes.ts';
import { mcp } from './mcp.ts';
import { memory } from './memory.ts';
import { runs } from './runs.ts';
import { subagents } from './subagents.ts';
import type { Workload } from './workload.ts';

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  runs,
  chats,
  envelopes,
  subagents,
  memory,
  mcp,
};

export const workloadNames = Object.keys(WORKLOADS);
