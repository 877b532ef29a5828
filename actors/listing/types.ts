/** The context and the messages of the listing of one agent. */
import type {
  ActionSpec,
  RegistryDeprecate,
  RegistryHeartbeat,
  RegistryRegister,
  RegistryRemove,
} from '../../protocols/action.ts';
import type { Address } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** Announced end of a MAJOR version of an action. */
export type Sunset = {
  readonly action: string;
  readonly major: number;
  /** RFC 3339 */
  readonly sunset_at: string;
};

/** A registration in the form in which the agent sent it. */
export type Registration = {
  readonly version: string;
  /** of an external agent */
  readonly url?: string;
  readonly actions: readonly ActionSpec[];
};

/** A registration whose schemas are being checked, and the caller that waits for the answer. */
export type Asked = Registration & {
  /** `sub` of the requester */
  readonly owner: string;
  /** the requester has the role `operator` */
  readonly byOperator: boolean;
  readonly at: number;
  readonly replyTo?: ReplyRef;
};

export type ListingContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly agentId: string;
  readonly status: 'live' | 'degraded' | 'gone';
  /** null until its first registration is good */
  readonly registration: Registration | null;
  readonly owner: string;
  /** by name of an action: the time since which it is offered, epoch milliseconds */
  readonly since: Readonly<Record<string, number>>;
  /** names of actions that an operator registered for it */
  readonly approved: readonly string[];
  readonly registeredAt: number;
  readonly lastSeen: number;
  readonly sunsets: readonly Sunset[];
  readonly asked: Asked | null;
  /** announcements that this round has not sent yet */
  readonly notices: readonly Sunset[];
};

/** The registry's answer to `registry.enrol`. */
type Enrolled = { readonly type: 'reply'; readonly error?: ErrorData };

export type ListingRequest =
  | RegistryRegister
  | RegistryHeartbeat
  | RegistryDeprecate
  | RegistryRemove;
export type ListingEvent = Delivered<ListingRequest> | Delivered<Enrolled>;

export type CheckInput = {
  readonly agentId: string;
  /** whether the agent is external */
  readonly outside: boolean;
  readonly tenant: string;
  /** `sub` of the principal that may change it */
  readonly owner: string;
  /** may be offered by any agent */
  readonly approved: readonly string[];
  /** sunsets that were announced before */
  readonly announced: readonly Sunset[];
  readonly actions: readonly ActionSpec[];
};
/** The result of `checkSpecs`. */
export type Verdict = { readonly refused?: ErrorData };

export type Args = ActionArgs<ListingContext, ListingEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends ListingEvent['type']> = ActionArgs<
  ListingContext,
  Extract<ListingEvent, { type: T }>
>;
export const { on } = handlersOf<ListingContext, ListingEvent>();
