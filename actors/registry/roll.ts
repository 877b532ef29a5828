/** The pure parts of the registry: who is on the roll, and who is told what. */
import { address, type Address } from '../../protocols/address.ts';
import type { ActorInput, Reply, Tell } from '../../protocols/statechart.ts';
import type { RegistryContext, RegistryEvent } from './types.ts';

/** Agents of one tenant. */
export const AGENTS_MAX = 1_000;
export const AGENT_ID = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

type Args = { readonly context: RegistryContext; readonly event: RegistryEvent };

export const listingAddress = (tenant: string, agentId: string): Address =>
  address(tenant, 'listing', agentId);

export const empty = ({ tenant }: ActorInput): RegistryContext => ({ tenant, agents: [] });

export const isOnRoll = ({ context, event }: Args): boolean =>
  context.agents.includes(event.agent_id);
export const hasRoom = ({ context }: Args): boolean => context.agents.length < AGENTS_MAX;
export const isNameless = ({ event }: Args): boolean =>
  typeof event.agent_id !== 'string' || !AGENT_ID.test(event.agent_id);
/** Nobody but the listing itself says that it has ended. */
export const isOfListing = ({ context, event }: Args): boolean =>
  event.meta.from === listingAddress(context.tenant, event.agent_id);

export const enrol = ({ context, event }: Args): Partial<RegistryContext> => ({
  agents: [...context.agents, event.agent_id],
});
export const strikeOff = ({ context, event }: Args): Partial<RegistryContext> => ({
  agents: context.agents.filter((agent) => agent !== event.agent_id),
});

const LISTING_EVENTS: Readonly<Record<string, string>> = {
  'registry.register': 'listing.register',
  'registry.register_agent': 'listing.register',
  'registry.heartbeat': 'listing.heartbeat',
  'registry.send_heartbeat': 'listing.heartbeat',
  'registry.deprecate': 'listing.deprecate',
  'registry.deprecate_action': 'listing.deprecate',
  'registry.remove': 'listing.remove',
  'registry.remove_agent': 'listing.remove',
};

/** The request goes on, with the address of whoever waits for its answer. */
export const toListing = ({ context, event }: Args): Tell => {
  const { meta, type, ...request } = event;
  return {
    to: listingAddress(context.tenant, event.agent_id),
    event: {
      ...request,
      type: LISTING_EVENTS[type]!,
      ...(meta.reply ? { replyTo: meta.reply } : {}),
    },
  };
};

export const nameless = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'INVALID_ARGUMENT',
    message: 'agent_id must be 1 to 63 of a-z, 0-9, _, - and ., beginning with a letter or digit',
  },
});

export const full = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'RATE_LIMIT_EXCEEDED',
    message: `the registry of ${context.tenant} holds ${AGENTS_MAX} agents, as many as it may: remove one first`,
  },
});

export const unknown = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'NOT_FOUND',
    message: `no agent ${JSON.stringify(event.agent_id)} is registered in ${context.tenant}: register it first`,
  },
});
