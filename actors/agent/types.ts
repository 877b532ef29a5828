/** What an agent keeps between turns. */
import type { Address } from '../../protocols/address.ts';
import type {
  AgentAdmit,
  AgentAllow,
  AgentConfigure,
  AgentPause,
  AgentRelease,
  AgentResume,
  AgentRetire,
  AgentReturn,
  AgentRow,
  AgentSettings,
} from '../../protocols/agent.ts';
import type {
  BudgetOpened,
  BudgetRefused,
  BudgetSpent,
  BudgetTaken,
} from '../../protocols/budget.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** A run that requested to start. */
export type WaitingRun = {
  readonly runId: string;
  readonly session: Address;
  readonly at: number;
  /** it has requested a slot of the tenant */
  readonly asked?: true;
  /** it needs no slot of the agent or the tenant; it waits only while the agent is paused */
  readonly nested?: true;
};

/** A pattern of commands that users allowed permanently. */
export type Allowed = NonNullable<AgentRow['allowed']>[number];

export type AgentContext = {
  readonly self: Address;
  readonly settings: AgentSettings | null;
  /**
   * by the time at which their leases end, soonest first: the number of runs that were admitted and
   * not yet released. Every turn writes these few numbers, however many runs there are
   */
  readonly leases: readonly (readonly [until: number, runs: number])[];
  readonly waiting: readonly WaitingRun[];
  /** UTC day that the sums count */
  readonly day: string;
  readonly tokensToday: number;
  readonly costToday: number;
  /** newest last */
  readonly allowed: readonly Allowed[];
  /** the tenant's budget was spent on that day */
  readonly tenantSpent: { readonly day: string; readonly error: ErrorData } | null;
  /** the standing lease that it gives; absent where a limit or a budget applies */
  readonly standing?: string;
  /** sessions that the present turn has answered */
  readonly answered: number;
};

export type AgentEvent =
  | Delivered<AgentConfigure>
  | Delivered<AgentAdmit>
  | Delivered<AgentRelease>
  | Delivered<AgentReturn>
  | Delivered<AgentPause>
  | Delivered<AgentResume>
  | Delivered<AgentRetire>
  | Delivered<AgentAllow>
  | Delivered<BudgetTaken>
  | Delivered<BudgetRefused>
  | Delivered<BudgetSpent>
  | Delivered<BudgetOpened>;

export type Args = ActionArgs<AgentContext, AgentEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends AgentEvent['type']> = ActionArgs<
  AgentContext,
  Extract<AgentEvent, { type: T }>
>;
export const { on } = handlersOf<AgentContext, AgentEvent>();
