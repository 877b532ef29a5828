/** Migrates rows of agents that older versions wrote. */
import type { AgentSettings } from '../../protocols/agent.ts';
import type { ActorDefinition } from '../../runtime/index.ts';
import { LEASE_GRACE_MS } from './slots.ts';

type Migrate = ActorDefinition['migrate'][number];

type Version1 = {
  readonly settings: AgentSettings | null;
  readonly running: readonly { readonly at: number }[];
};

/**
 * Version 1 had no costs, no allowed commands and no tenant budget, and stored admitted runs by
 * name. The runs that are still active return no lease: their slots become free when their leases
 * end.
 */
export const withCosts: Migrate = (row) => {
  const { running, ...kept } = row.snap.c as Version1;
  const forMs = (kept.settings?.timeoutMs ?? 0) + LEASE_GRACE_MS;
  const until = Math.max(0, ...running.map(({ at }) => at + forMs));
  const leases = running.length > 0 ? [[until, running.length]] : [];
  const c = { ...kept, leases, costToday: 0, allowed: [], tenantSpent: null };
  return { ...row, snap: { ...row.snap, c } };
};
