/** The context of the registry, and the messages of listings to it. */
import type { Delivered } from '../../protocols/statechart.ts';

export type RegistryContext = {
  readonly tenant: string;
  /** ids of the agents, in the order they came */
  readonly agents: readonly string[];
};

/** An agent wants to be registered. Answer: nothing, or RATE_LIMIT_EXCEEDED. */
export type RegistryEnrol = { readonly type: 'registry.enrol'; readonly agent_id: string };

/** A listing has ended: its agent left, was refused, or was silent for long. */
export type ListingEnded = { readonly type: 'listing.ended'; readonly agent_id: string };

export type RegistryEvent = Delivered<RegistryEnrol> | Delivered<ListingEnded>;
