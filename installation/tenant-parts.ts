/**
 * TenantParts: the parts that are created from one tenant's configuration
 * (runtime/config/tenants.ts) and that its agents use. A tenant without its own sections uses the
 * parts of the installation.
 *
 * Invariant: a tenant with its own providers receives no key of the installation, neither from its
 * sections nor from the environment, and no provider of a plugin.
 */
import { createHooks } from '../agent/hooks/create-hooks.ts';
import { createModelCatalog, type ModelCatalog } from '../agent/models/catalog.ts';
import type { ModelProvider } from '../agent/models/model.ts';
import type { McpReport, McpServers } from '../agent/mcp/servers.ts';
import type { AgentServices, TenantServices } from '../agent/services.ts';
import { createToolRegistry } from '../agent/tools/registry.ts';
import { type GrowingMask, growingMask } from '../agent/tools/growing-mask.ts';
import type { SessionFacts } from '../agent/tools/sessions/session-status.ts';
import type { Tool } from '../agent/tools/tool.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import {
  type Config,
  ownSections,
  type ResolvedAgent,
  resolveAgents,
  tenantConfig,
  tenantsWithOwn,
} from '../runtime/config/index.ts';
import { type Artifacts, type System, systemClock } from '../runtime/index.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import { type MemoryParts, memoryParts } from './memory-options.ts';
import { settingsOf } from './agent-settings.ts';
import { knownSecrets } from './known-secrets.ts';
import { mcpServersOf, storedLists } from './mcp-servers.ts';
import { remoteAgentCaller, remoteAgentsOf } from './remote-agents.ts';
import { skillsFolderOf } from './skills-folder.ts';
import { keysFromEnvironment } from './start-rules.ts';
import { talkRulesOf } from './talk-rules.ts';
import { toolsOf } from './tenant-tools.ts';

export type TenantParts = {
  /** the tenant's configuration */
  readonly config: Config;
  readonly agents: readonly ResolvedAgent[];
  readonly fallbackModel: string;
  readonly services: TenantServices;
  readonly memory: MemoryParts;
  /** connects to nothing before `start` or a call */
  readonly mcp: McpServers;
};

/** The parts of the installation, which most tenants use, and those of the other tenants. */
export type InstallationParts = TenantParts & {
  readonly tenants: ReadonlyMap<string, TenantParts>;
};

export type PartsOptions = {
  readonly clustered: boolean;
  /** tools of the application, in addition to the built-in ones */
  readonly ownTools: readonly Tool[];
  /** model providers of plugins, for tenants without providers of their own */
  readonly providers: readonly ModelProvider[];
  /** stores long answers of devices */
  readonly bucket: Promise<Artifacts>;
  /** stores vectors of notes */
  readonly blobs: Promise<Blobs>;
  /** receives what MCP servers print, and their failures */
  readonly onMcpReport?: (report: McpReport) => void;
};

/** @throws Error if two tools share a name */
export function installationParts(config: Config, options: PartsOptions): InstallationParts {
  const secrets = growingMask(knownSecrets(config, process.env));
  const catalog = catalogOf(config, options.providers);
  const ownParts = (tenant: string): TenantParts => {
    const own = tenantConfig(config, tenant);
    const hasModels = ownSections(config, tenant).includes('models');
    return partsOf(
      own,
      { tenant, catalog: hasModels ? catalogOf(own, [], tenant) : catalog, secrets },
      options,
    );
  };
  return {
    ...partsOf(config, { tenant: DEFAULT_TENANT, catalog, secrets }, options),
    tenants: new Map(tenantsWithOwn(config).map((tenant) => [tenant, ownParts(tenant)])),
  };
}

/** The agents, models and tools of a tenant. All code finds them with this function. */
export const partsFor = (parts: InstallationParts, tenant: string): TenantParts =>
  parts.tenants.get(tenant) ?? parts;

/** Services of all tenants, and the parts that they share. */
export function allServices<Common extends Omit<AgentServices, keyof TenantServices>>(
  { services, tenants }: InstallationParts,
  common: Common,
): TenantServices & Common {
  const own = [...tenants].map(
    ([tenant, parts]) => [tenant, { ...common, ...parts.services }] as const,
  );
  return { ...common, ...services, ofTenant: new Map(own) };
}

/**
 * Ends everything that tools left running, and connections to MCP servers; tools that tenants share
 * are closed once.
 */
export async function closeTools(parts: InstallationParts): Promise<void> {
  const all = [parts, ...parts.tenants.values()];
  // First: they read no lists afterwards, because the system is closed.
  const closing = all.map(({ mcp }) => mcp.close());
  const tools = new Set(all.flatMap(({ services }) => services.tools.all()));
  await Promise.all([...closing, ...[...tools].map(async (tool) => tool.close?.())]);
}

/**
 * Gives agents the tools of MCP servers, by the lists that the system stores.
 * @param refreshes whether new lists are requested now
 */
export function openMcpServers(
  parts: InstallationParts,
  system: Pick<System, 'index' | 'tell' | 'caughtUp'>,
  refreshes: boolean,
): void {
  parts.mcp.open(storedLists(system, DEFAULT_TENANT), refreshes);
  for (const [tenant, { mcp }] of parts.tenants) mcp.open(storedLists(system, tenant), refreshes);
}

type OwnParts = Pick<TenantServices, 'catalog'> & {
  readonly tenant: string;
  /** one for all tenants */
  readonly secrets: GrowingMask;
};

function partsOf(
  config: Config,
  { tenant, catalog, secrets }: OwnParts,
  { clustered, ownTools, bucket, blobs, onMcpReport }: PartsOptions,
): TenantParts {
  const agents = resolveAgents(config);
  const facts = sessionFacts(catalog, agents);
  const memory = memoryParts(config, { catalog, blobs, secrets });
  const remoteAgents = remoteAgentsOf(config, { blobs });
  const mcp = mcpServersOf(config, { tenant, secrets, report: onMcpReport });
  const builtIn = toolsOf(config, { clustered, bucket, facts, memory, remoteAgents });
  const services: TenantServices = {
    catalog,
    tools: createToolRegistry([...builtIn, ...ownTools], mcp),
    remote: { mcp: mcp.caller, a2a: remoteAgentCaller(remoteAgents, bucket) },
    mcpLists: mcp,
    hooks: createHooks(),
    talk: talkRulesOf(config),
    skillsFolder: skillsFolderOf(config),
    skillsEnv: config.skills.env,
    secrets,
  };
  return { config, agents, fallbackModel: catalog.defaultModel(), services, memory, mcp };
}

/** The models of a tenant, or of the installation, whose providers may be of plugins. */
export const catalogOf = (
  config: Config,
  plugins: readonly ModelProvider[],
  tenant?: string,
): ModelCatalog =>
  createModelCatalog(config.models, {
    plugins,
    env: keysFromEnvironment(config, tenant),
    clock: systemClock,
    ...offlinePace(process.env['TROUPE_OFFLINE_TOKENS_PER_SECOND']),
  });

/** Facts about sessions for agents that are not in the rows. */
function sessionFacts(catalog: ModelCatalog, agents: readonly ResolvedAgent[]): SessionFacts {
  const settings = new Map(agents.map((agent) => [agent.id, settingsOf(agent)]));
  return {
    fallbackModel: catalog.defaultModel(),
    settingsOf: (agentId) => settings.get(agentId),
    windowOf(model) {
      try {
        return catalog.resolve(model).model.contextWindow;
      } catch {
        return undefined;
      }
    },
  };
}

function offlinePace(text: string | undefined): { offlineTokensPerSecond?: number } {
  const pace = Number(text);
  return text !== undefined && Number.isFinite(pace) && pace >= 0
    ? { offlineTokensPerSecond: pace }
    : {};
}
