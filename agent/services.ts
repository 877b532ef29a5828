/**
 * What the composition root gives to the effects of agents, and which of it a tenant has.
 *
 * Invariant: an effect uses the services of the tenant in its actor's address. `servicesOf` is the
 * only way to them.
 */
import { parseAddress } from '../protocols/address.ts';
import type { EffectContext } from '../runtime/index.ts';
import type { Hooks } from './hooks/hooks.ts';
import type { ModelCatalog } from './models/catalog.ts';
import type { TalkRules } from './policy/talk.ts';
import type { SkillSettings } from './prompt/agent-files.ts';
import type { ToolRegistry } from './tools/registry.ts';
import type { SecretMask } from './tools/secret-mask.ts';
import type { ToolSystem } from './tools/tool.ts';

/** What is made from the configuration of one tenant. */
export type TenantServices = SkillSettings & {
  readonly catalog: ModelCatalog;
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  /** What agents may do with each other's sessions. */
  readonly talk: TalkRules;
  /** Masks secret values in what tools return. */
  readonly secrets: SecretMask;
};

export type AgentServices = TenantServices & {
  /** Name of this worker; absent where there is one process only. */
  readonly node?: string;
  /** Messages to actors: `System.ask`, there before the first effect runs. */
  readonly ask: ToolSystem['ask'];
  /** Services of tenants that have some of their own; any other tenant has these. */
  readonly ofTenant?: ReadonlyMap<string, AgentServices>;
};

/** The services of the tenant whose actor the effect belongs to. */
export function servicesOf({
  services,
  actor,
}: Pick<EffectContext, 'services' | 'actor'>): AgentServices {
  const shared = services as AgentServices;
  return shared.ofTenant?.get(parseAddress(actor).tenant) ?? shared;
}
