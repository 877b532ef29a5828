/** What a tenant's budget keeps between turns. */
import type { Address } from '../../protocols/address.ts';
import type { TenantCeilings } from '../../protocols/agent.ts';
import type {
  BudgetConfigure,
  BudgetRelease,
  BudgetRow,
  BudgetTake,
} from '../../protocols/budget.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** A run that has a slot until it is released, at the latest until this time. */
export type RunSlot = { readonly runId: string; readonly until: number };
/** A run that waits for a slot, and its agent. */
export type SlotRequest = {
  readonly runId: string;
  readonly agent: Address;
  readonly forMs: number;
};

export type BudgetContext = {
  readonly self: Address;
  readonly ceilings: TenantCeilings;
  /** agents that were configured with limits, oldest first */
  readonly agents: readonly Address[];
  /** UTC day that the sums count */
  readonly day: string;
  readonly tokensToday: number;
  readonly costToday: number;
  readonly running: readonly RunSlot[];
  readonly waiting: readonly SlotRequest[];
  /** the limit that was reached */
  readonly spent: NonNullable<BudgetRow['spent']> | null;
  /** agents that have not received the newest state yet */
  readonly untold: readonly Address[];
  /** agents that the current turn has notified */
  readonly answered: number;
};

export type BudgetEvent =
  | Delivered<BudgetConfigure>
  | Delivered<BudgetTake>
  | Delivered<BudgetRelease>;

export type Args = ActionArgs<BudgetContext, BudgetEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends BudgetEvent['type']> = ActionArgs<
  BudgetContext,
  Extract<BudgetEvent, { type: T }>
>;
export const { on } = handlersOf<BudgetContext, BudgetEvent>();
