/** The pure parts of the registry: its list of agents. */
import { address, type Address } from '../../protocols/address.ts';
import type { ActorInput, Reply } from '../../protocols/statechart.ts';
import type { RegistryContext, RegistryEvent } from './types.ts';

/** Agents of one tenant. */
export const AGENTS_MAX = 1_000;
export const AGENT_ID = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

type Args = { readonly context: RegistryContext; readonly event: RegistryEvent };

export const registryAddress = (tenant: string): Address => address(tenant, 'registry', 'agents');
export const listingAddress = (tenant: string, agentId: string): Address =>
  address(tenant, 'listing', agentId);

export const empty = ({ tenant }: ActorInput): RegistryContext => ({ tenant, agents: [] });

export const isListed = ({ context, event }: Args): boolean =>
  context.agents.includes(event.agent_id);
export const hasRoom = ({ context }: Args): boolean => context.agents.length < AGENTS_MAX;
/** Only the listing itself may report that it has ended. */
export const isOfListing = ({ context, event }: Args): boolean =>
  event.meta.from === listingAddress(context.tenant, event.agent_id);

export const enrol = ({ context, event }: Args): Partial<RegistryContext> => ({
  agents: [...context.agents, event.agent_id],
});
export const strikeOff = ({ context, event }: Args): Partial<RegistryContext> => ({
  agents: context.agents.filter((agent) => agent !== event.agent_id),
});

export const enrolled = ({ event }: Args): Reply => ({ to: event.meta.reply, result: null });
export const full = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'RATE_LIMIT_EXCEEDED',
    message: `the registry of ${context.tenant} holds ${AGENTS_MAX} agents, as many as it may: remove one first`,
  },
});
