/** What an agent keeps between turns. */
import type { Address } from '../../protocols/address.ts';
import type {
  AgentAdmit,
  AgentConfigure,
  AgentPause,
  AgentRelease,
  AgentResume,
  AgentRetire,
  AgentSettings,
} from '../../protocols/agent.ts';
import type { Delivered } from '../../protocols/statechart.ts';

/** A run that asked to begin. */
export type Slot = { readonly runId: string; readonly session: Address; readonly at: number };

/** A run that was admitted. Small: an agent with many runs writes them with every turn. */
export type Held = Omit<Slot, 'session'>;

export type AgentContext = {
  readonly self: Address;
  readonly settings: AgentSettings | null;
  /** admitted and not yet released */
  readonly running: readonly Held[];
  readonly waiting: readonly Slot[];
  /** UTC day that `tokensToday` counts */
  readonly day: string;
  readonly tokensToday: number;
  /** sessions that the present turn has answered */
  readonly answered: number;
};

export type AgentEvent =
  | Delivered<AgentConfigure>
  | Delivered<AgentAdmit>
  | Delivered<AgentRelease>
  | Delivered<AgentPause>
  | Delivered<AgentResume>
  | Delivered<AgentRetire>;
