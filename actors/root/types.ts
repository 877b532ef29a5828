/** The context of the root: it lists only actors that failed recently. */
import type { Address } from '../../protocols/address.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import type { RootAmend } from '../../protocols/settings.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import type {
  AlarmDismiss,
  Down,
  RootDrain,
  RootStart,
  RootStopped,
  WorkerDraining,
  WorkerJoined,
  WorkerLeft,
  WorkerLost,
  WorkerRow,
} from '../../protocols/supervision.ts';
import type { Outbox } from '../supervisor/outbox.ts';
import type { Failure, Waiting } from '../supervisor/strategy.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type RootContext = {
  readonly self: Address;
  readonly tenant: string;
  /** the last configured settings */
  readonly agents: readonly AgentSettings[];
  /** agents that have not yet confirmed their settings */
  readonly unconfirmed: readonly Address[];
  /** who started the root and waits for its answer */
  readonly starter: ReplyRef | null;
  /** the time since which the life cycle is in its current state */
  readonly since: number;
  /** of the last period, oldest first */
  readonly failures: readonly Failure[];
  readonly waiting: readonly Waiting[];
  /** actors that have an alarm row in the index, oldest first */
  readonly alarms: readonly Address[];
  /** workers in use, and workers lost since the cell was last stable; oldest first */
  readonly workers: readonly WorkerRow[];
  readonly outbox: Outbox;
};

export type RootEvent =
  | Delivered<RootStart>
  | Delivered<RootAmend>
  | Delivered<RootDrain>
  | Delivered<RootStopped>
  | Delivered<Down>
  | Delivered<AlarmDismiss>
  | Delivered<WorkerJoined>
  | Delivered<WorkerDraining>
  | Delivered<WorkerLeft>
  | Delivered<WorkerLost>
  /** from an agent, to `agent.configure` */
  | Delivered<{ type: 'reply'; to: string; result?: unknown; error?: ErrorData }>;

export type Args = ActionArgs<RootContext, RootEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends RootEvent['type']> = ActionArgs<
  RootContext,
  Extract<RootEvent, { type: T }>
>;
export const { on } = handlersOf<RootContext, RootEvent>();
