/** What the registry keeps between turns, and what it is told. */
import type {
  RegistryDeprecate,
  RegistryHeartbeat,
  RegistryRegister,
  RegistryRemove,
} from '../../protocols/action.ts';
import type { Delivered } from '../../protocols/statechart.ts';

export type RegistryContext = {
  readonly tenant: string;
  /** ids of the agents, in the order they came */
  readonly agents: readonly string[];
};

/** The same request under the name of the action that agents outside ask for. */
type Asked<Event, Name extends string> = Omit<Event, 'type'> & { readonly type: Name };

export type RegistryRequest =
  | RegistryRegister
  | Asked<RegistryRegister, 'registry.register_agent'>
  | RegistryHeartbeat
  | Asked<RegistryHeartbeat, 'registry.send_heartbeat'>
  | RegistryDeprecate
  | Asked<RegistryDeprecate, 'registry.deprecate_action'>
  | RegistryRemove
  | Asked<RegistryRemove, 'registry.remove_agent'>;

/** A listing has ended: its agent left, was refused, or was silent for long. */
export type ListingEnded = { readonly type: 'listing.ended'; readonly agent_id: string };

export type RegistryEvent = Delivered<RegistryRequest> | Delivered<ListingEnded>;
