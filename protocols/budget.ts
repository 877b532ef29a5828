/**
 * Budget: what the agents of a tenant may use together. The vocabulary between the agents and the
 * tenant's one budget actor, which is there only when such a ceiling is configured (AL2, AL10).
 */
import { type Address, address } from './address.ts';
import type { TenantCeilings } from './agent.ts';
import type { ErrorData } from './errors.ts';
import type { Usage } from './session.ts';

/**
 * From an agent when it is configured: these ceilings hold. It is told of the verdict from then on.
 */
export type BudgetConfigure = { type: 'budget.configure'; ceilings: TenantCeilings };
/**
 * From an agent: may this run begin? Answer, at once or when another has ended: `budget.taken` or
 * `budget.refused`. `forMs`: a place that is not released by then comes free by itself.
 */
export type BudgetTake = { type: 'budget.take'; runId: string; forMs: number };
/** From an agent: the run has ended, or it waits no longer; what it used. */
export type BudgetRelease = { type: 'budget.release'; runId: string; usage: Usage };

export type BudgetTaken = { type: 'budget.taken'; runId: string };
export type BudgetRefused = { type: 'budget.refused'; runId: string; error: ErrorData };
/** To every agent: no run begins any more on this UTC day. */
export type BudgetSpent = { type: 'budget.spent'; day: string; error: ErrorData };
/** To every agent: runs begin again. */
export type BudgetOpened = { type: 'budget.opened' };

/** Index `budgets`, key `tenant`. */
export const BUDGETS_INDEX = 'budgets';
export type BudgetRow = {
  status: 'open' | 'spent';
  /** the ceiling that is reached */
  spent?: 'tokensPerDay' | 'costPerDayUsd';
  ceilings: TenantCeilings;
  day: string;
  tokensToday: number;
  costTodayUsd: number;
  /** runs that hold a place, and those that wait for one; 0 without `ceilings.runsMax` */
  running: number;
  waiting: number;
};

export const BUDGET_KEY = 'tenant';
export const budgetAddress = (tenant: string): Address => address(tenant, 'budget', BUDGET_KEY);
