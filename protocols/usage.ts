/** Usage totals for operators, from committed rows. */
import type { AgentRow } from './agent.ts';
import type { BudgetRow } from './budget.ts';
import type { Usage } from './session.ts';

/** One UTC day of an agent. */
export type AgentUsage = Required<Pick<AgentRow, 'agentId' | 'day' | 'tokensToday'>> &
  Pick<AgentRow, 'running' | 'waiting'> & { costTodayUsd: number };

/** What the runs used that ended on one UTC day. */
export type UsageDay = {
  /** YYYY-MM-DD */
  readonly day: string;
  readonly tokens: number;
  readonly costUsd: number;
};

/** The lifetime of a session. */
export type SessionUsage = {
  readonly sessionKey: string;
  readonly agentId: string;
  readonly updatedAt: number;
  readonly usage: Usage;
};

export type UsageReport = {
  /** of all agents together; absent without such a limit */
  readonly budget?: BudgetRow;
  readonly agents: readonly AgentUsage[];
  /** the oldest first, today last; only when requested */
  readonly days?: readonly UsageDay[];
  /** the largest first; only when requested by agent or session */
  readonly sessions?: readonly SessionUsage[];
  /** of all its sessions, including those that are not listed */
  readonly total?: Usage & { readonly sessions: number };
  /** there are more sessions than were counted */
  readonly isPartial?: true;
};
