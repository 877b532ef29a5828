/** The agents of a tenant as gateways and operations name them. */
import type { Setup } from '../channels/index.ts';
import type { AgentNames } from '../operations/sessions/session-key.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defaultAgent } from '../runtime/config/index.ts';
import { type InstallationParts, partsFor } from './tenant-parts.ts';

/** The agents now: operators may create others at any time. */
export function agentNames(
  parts: InstallationParts & { readonly setup?: (tenant: string) => Setup },
  tenant: string,
): AgentNames {
  const { config, agents, fallbackModel } = partsFor(parts, tenant);
  const configured = agents.map(({ id, model }) => ({ id, model: model ?? fallbackModel }));
  // A request may name any tenant: only those of the configuration have settings to keep.
  const hasSettings = tenant === DEFAULT_TENANT || Object.hasOwn(parts.config.tenants, tenant);
  const setup = hasSettings ? parts.setup?.(tenant) : undefined;
  return {
    defaultAgentId: defaultAgent(config).id,
    mainKey: config.session.mainKey,
    get agents() {
      return setup?.agents.cards() ?? configured;
    },
  };
}
