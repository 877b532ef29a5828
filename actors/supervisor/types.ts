/** The context of a supervisor. */
import type { Address } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import type {
  ChildSpec,
  Down,
  Strategy,
  SupervisorAdd,
  SupervisorRemove,
  SupervisorRestart,
  SupervisorStart,
  SupervisorStop,
} from '../../protocols/supervision.ts';
import type { Outbox } from './outbox.ts';
import type { Failure, Limits, Waiting } from './strategy.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** SupervisorStart with every default in place, without the children. */
export type Plan = {
  readonly strategy: Strategy;
  readonly limits: Limits;
  readonly whenExceeded: 'stop' | 'quarantine';
  readonly parent: Address;
};

export type SupervisorContext = {
  readonly self: Address;
  readonly plan: Plan;
  /** in the order of the strategy rest-for-one */
  readonly children: readonly ChildSpec[];
  /** of the last period, oldest first */
  readonly failures: readonly Failure[];
  readonly waiting: readonly Waiting[];
  /** why it has given up */
  readonly why: ErrorData | null;
  readonly outbox: Outbox;
};

export type SupervisorEvent =
  | Delivered<SupervisorStart>
  | Delivered<SupervisorAdd>
  | Delivered<SupervisorRemove>
  | Delivered<SupervisorRestart>
  | Delivered<SupervisorStop>
  | Delivered<Down>;

export type Args = ActionArgs<SupervisorContext, SupervisorEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends SupervisorEvent['type']> = ActionArgs<
  SupervisorContext,
  Extract<SupervisorEvent, { type: T }>
>;
export const { on } = handlersOf<SupervisorContext, SupervisorEvent>();
