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

/** A run that was admitted. Small: an agent with many runs writes them with every turn. */
export type Held = { readonly runId: string; readonly at: number };

/** A run that asked to begin. */
export type Slot = Held & {
  readonly session: Address;
  /** it has asked for one of the tenant's places */
  readonly asked?: true;
};

/** A pattern of commands that people allowed for good. */
export type Allowed = NonNullable<AgentRow['allowed']>[number];

export type AgentContext = {
  readonly self: Address;
  readonly settings: AgentSettings | null;
  /** admitted and not yet released */
  readonly running: readonly Held[];
  readonly waiting: readonly Slot[];
  /** UTC day that the sums count */
  readonly day: string;
  readonly tokensToday: number;
  readonly costToday: number;
  /** newest last */
  readonly allowed: readonly Allowed[];
  /** the tenant's budget was spent on that day */
  readonly tenantSpent: { readonly day: string; readonly error: ErrorData } | null;
  /** sessions that the present turn has answered */
  readonly answered: number;
};

export type AgentEvent =
  | Delivered<AgentConfigure>
  | Delivered<AgentAdmit>
  | Delivered<AgentRelease>
  | Delivered<AgentPause>
  | Delivered<AgentResume>
  | Delivered<AgentRetire>
  | Delivered<AgentAllow>
  | Delivered<BudgetTaken>
  | Delivered<BudgetRefused>
  | Delivered<BudgetSpent>
  | Delivered<BudgetOpened>;
