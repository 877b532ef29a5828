/**
 * The services of the effects of agents, and how an effect finds those of its tenant.
 *
 * Invariant: an effect uses the services of the tenant in its actor's address. Only `servicesOf`
 * returns them.
 */
import { parseAddress } from '../protocols/address.ts';
import type { FreshToolList } from '../protocols/mcp-server.ts';
import type { RemoteCallers } from '../protocols/remote-call.ts';
import type { EffectContext } from '../runtime/index.ts';
import type { Hooks } from './hooks/hooks.ts';
import type { ModelCatalog } from './models/catalog.ts';
import type { TalkRules } from './policy/talk.ts';
import type { SkillSettings } from './prompt/agent-files.ts';
import type { ToolRegistry } from './tools/registry.ts';
import type { SecretMask } from './tools/secret-mask.ts';
import type { ToolSystem } from './tools/tool.ts';

/** Services that are made from the configuration of one tenant. */
export type TenantServices = SkillSettings & {
  readonly catalog: ModelCatalog;
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  /** What agents may do with sessions of other agents. */
  readonly talk: TalkRules;
  /** Masks secret values in tool results. */
  readonly secrets: SecretMask;
  /** Make calls to programs outside, for the actor `remote-call`; absent: none can be made. */
  readonly remote?: RemoteCallers;
  /**
   * Reads lists of tools, for the actor `mcp-server`. @throws TroupeError NOT_FOUND, UNAVAILABLE
   */
  readonly mcpLists?: { list(name: string): Promise<FreshToolList> };
};

export type AgentServices = TenantServices & {
  /** Name of this worker; absent with a single process. */
  readonly node?: string;
  /** Sends messages to actors (`System.ask`); set before the first effect runs. */
  readonly ask: ToolSystem['ask'];
  /** Services of tenants with their own configuration; all other tenants use these. */
  readonly ofTenant?: ReadonlyMap<string, AgentServices>;
};

/** The services of the tenant of the effect's actor. */
export function servicesOf({
  services,
  actor,
}: Pick<EffectContext, 'services' | 'actor'>): AgentServices {
  const shared = services as AgentServices;
  return shared.ofTenant?.get(parseAddress(actor).tenant) ?? shared;
}
