/** Usage: what was used, as operators read it from committed rows (AL10). */
import type { AgentRow } from './agent.ts';
import type { BudgetRow } from './budget.ts';
import type { Usage } from './session.ts';

/** An agent's UTC day. */
export type AgentUsage = Required<Pick<AgentRow, 'agentId' | 'day' | 'tokensToday'>> &
  Pick<AgentRow, 'running' | 'waiting'> & { costTodayUsd: number };

/** A session's whole life. */
export type SessionUsage = {
  readonly sessionKey: string;
  readonly agentId: string;
  readonly updatedAt: number;
  readonly usage: Usage;
};

export type UsageReport = {
  /** of all agents together; absent where there is no such ceiling */
  readonly budget?: BudgetRow;
  readonly agents: readonly AgentUsage[];
  /** those that used most first; asked for by agent or session only */
  readonly sessions?: readonly SessionUsage[];
  /** of all its sessions, also of those that are not listed */
  readonly total?: Usage & { readonly sessions: number };
  /** there are more sessions than were counted */
  readonly isPartial?: true;
};
