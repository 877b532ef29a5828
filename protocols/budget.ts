/**
 * Budget: limits for all agents of a tenant together. Messages and rows that the agents share with
 * the tenant's budget actor, which exists only when such a limit is configured.
 */
import { type Address, address } from './address.ts';
import type { TenantCeilings } from './agent.ts';
import type { ErrorData } from './errors.ts';
import type { Usage } from './session.ts';

/**
 * From an agent when it is configured: sets the ceilings and subscribes the agent to their state.
 */
export type BudgetConfigure = { type: 'budget.configure'; ceilings: TenantCeilings };
/**
 * From an agent: requests that a run may start. Reply, at once or when another run ends:
 * `budget.taken` or `budget.refused`. `forMs`: a slot that is not released by then expires.
 */
export type BudgetTake = { type: 'budget.take'; runId: string; forMs: number };
/** From an agent: the run ended or no longer waits; `usage` is what it used. */
export type BudgetRelease = { type: 'budget.release'; runId: string; usage: Usage };

export type BudgetTaken = { type: 'budget.taken'; runId: string };
export type BudgetRefused = { type: 'budget.refused'; runId: string; error: ErrorData };
/** To every agent: no further run may start on this UTC day. */
export type BudgetSpent = { type: 'budget.spent'; day: string; error: ErrorData };
/** To every agent: runs may start again. */
export type BudgetOpened = { type: 'budget.opened' };

/** Index `budgets`, key `tenant`. */
export const BUDGETS_INDEX = 'budgets';
export type BudgetRow = {
  status: 'open' | 'spent';
  /** the ceiling that was reached */
  spent?: 'tokensPerDay' | 'costPerDayUsd';
  ceilings: TenantCeilings;
  day: string;
  tokensToday: number;
  costTodayUsd: number;
  /** runs with a slot, and runs that wait for one; 0 without `ceilings.runsMax` */
  running: number;
  waiting: number;
};

export const BUDGET_KEY = 'tenant';
export const budgetAddress = (tenant: string): Address => address(tenant, 'budget', BUDGET_KEY);
