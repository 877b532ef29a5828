/**
 * TenantParts: the parts that are created from one tenant's configuration
 * (runtime/config/tenants.ts) and that its agents use. A tenant without its own sections uses the
 * parts of the installation.
 *
 * Invariant: a tenant with its own providers receives no key of the installation, neither from its
 * sections nor from the environment.
 */
import { createHooks } from '../agent/hooks/create-hooks.ts';
import { createModelCatalog, type ModelCatalog } from '../agent/models/catalog.ts';
import type { AgentServices, TenantServices } from '../agent/services.ts';
import { basicTools } from '../agent/tools/basic/basic-tools.ts';
import { createReadingTools } from '../agent/tools/sessions/session-reading-tools.ts';
import { createToolRegistry } from '../agent/tools/registry.ts';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import type { SessionFacts } from '../agent/tools/sessions/session-status.ts';
import { createTalkTools } from '../agent/tools/sessions/session-sending-tools.ts';
import type { Tool } from '../agent/tools/tool.ts';
import {
  type Config,
  ownSections,
  type ResolvedAgent,
  resolveAgents,
  tenantConfig,
  tenantsWithOwn,
} from '../runtime/config/index.ts';
import { systemClock } from '../runtime/index.ts';
import { settingsOf } from '../installation/agent-settings.ts';
import { hostToolsOf } from './host-tools.ts';
import { knownSecrets } from '../installation/known-secrets.ts';
import { type LateBucket, nodeToolsOf } from './node-tools.ts';
import { skillsFolderOf } from '../installation/skills-folder.ts';
import { keysFromEnvironment } from '../installation/start-rules.ts';
import { talkRulesOf } from '../installation/talk-rules.ts';
import { webToolsOf } from './web-tools.ts';

export type TenantParts = {
  /** the tenant's configuration */
  readonly config: Config;
  readonly agents: readonly ResolvedAgent[];
  readonly fallbackModel: string;
  readonly services: TenantServices;
};

export type PartsOptions = {
  readonly clustered: boolean;
  /** tools of the application, in addition to the built-in ones */
  readonly ownTools: readonly Tool[];
  /** the bucket of the devices' long answers */
  readonly bucket: LateBucket;
};

export function installationParts(config: Config, options: PartsOptions): TenantParts {
  const secrets = createSecretMask(knownSecrets(config, process.env));
  return partsOf(config, { catalog: catalogOf(config), secrets }, options);
}

/** The parts of each tenant that has its own sections. */
export function tenantParts(
  config: Config,
  shared: TenantParts,
  options: PartsOptions,
): ReadonlyMap<string, TenantParts> {
  const parts = (tenant: string): TenantParts => {
    const own = tenantConfig(config, tenant);
    const hasModels = ownSections(config, tenant).includes('models');
    const catalog = hasModels ? catalogOf(own, tenant) : shared.services.catalog;
    return partsOf(own, { catalog, secrets: shared.services.secrets }, options);
  };
  return new Map(tenantsWithOwn(config).map((tenant) => [tenant, parts(tenant)]));
}

/** Services of all tenants, and the parts that they share. */
export function allServices<Common extends Omit<AgentServices, keyof TenantServices>>(
  shared: TenantParts,
  tenants: ReadonlyMap<string, TenantParts>,
  common: Common,
): TenantServices & Common {
  const own = [...tenants].map(
    ([tenant, parts]) => [tenant, { ...common, ...parts.services }] as const,
  );
  return { ...common, ...shared.services, ofTenant: new Map(own) };
}

/** Ends everything that tools left running; parts that tenants share are ended once. */
export async function closeTools(all: readonly TenantParts[]): Promise<void> {
  const tools = new Set(all.flatMap(({ services }) => services.tools.all()));
  await Promise.all([...tools].map(async (tool) => tool.close?.()));
}

function partsOf(
  config: Config,
  { catalog, secrets }: Pick<TenantServices, 'catalog' | 'secrets'>,
  { clustered, ownTools, bucket }: PartsOptions,
): TenantParts {
  const agents = resolveAgents(config);
  const services: TenantServices = {
    catalog,
    tools: createToolRegistry([
      ...basicTools,
      ...createReadingTools(sessionFacts(catalog, agents)),
      ...createTalkTools(),
      ...hostToolsOf(config, clustered),
      ...webToolsOf(config),
      ...nodeToolsOf(bucket),
      ...ownTools,
    ]),
    hooks: createHooks(),
    talk: talkRulesOf(config),
    skillsFolder: skillsFolderOf(config),
    skillsEnv: config.skills.env,
    secrets,
  };
  return { config, agents, fallbackModel: catalog.defaultModel(), services };
}

const catalogOf = (config: Config, tenant?: string): ModelCatalog =>
  createModelCatalog(config.models, {
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
