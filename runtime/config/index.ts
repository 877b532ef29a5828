/**
 * Configuration: one JSON5 file, the environment and flags, checked as a whole.
 */
export {
  type ResolvedAgent,
  defaultAgent,
  resolveAgents,
  soleAgentId,
} from './agents.ts';
export { type Finding as ConfigFinding, withoutLogin } from './checks/check.ts';
export {
  crossChecks as startChecks,
  findingsOf,
  type Rule as ConfigRule,
} from './checks/cross-checks.ts';
export {
  type LoadedConfig,
  type LoadInput,
  configFileName,
  loadConfig,
} from './load.ts';
export { type PortableConfig, portableConfig } from './portable.ts';
export { initialConfig, SCHEMA_FILE_NAME } from './initial-file.ts';
export { natsOptions, natsServers } from './nats.ts';
export type { ConfigFlags } from './overrides.ts';
export { ConfigError, type Problem, problemText } from './checks/problems.ts';
export {
  type AgentConfig,
  type Config,
  type McpServerConfig,
  type PluginConfig,
  type ProviderConfig,
  type RemoteAgentConfig,
  type SandboxConfig,
  configSchema,
} from './schema/schema.ts';
export type { AccountPolicy } from './schema/channels.ts';
export { Secret, redacted } from './secret.ts';
export { ownSections, tenantConfig, tenantsWithOwn } from './tenants.ts';
export { noteOwnTools } from './own-tools.ts';
export { ensureToken, tokenFile } from './token.ts';
export { admit, admitsMany } from './admission.ts';
export { routeByTable } from './routing.ts';
export { namedFolders, workspaceFolderOf } from './workspace-folders.ts';
export { leaves, pointerOf, showPointer } from './pointer.ts';
export { changesOf, type ConfigChange, schemaAt, whenApplied } from './when-applied.ts';
export { configReference } from './reference.ts';
export { bindHost, cacheFolder, gatewayOrigin, nodeName, storeFolder } from './places.ts';
export { makeFolder } from '../make-folder.ts';
export { readSecretFile, writeSecretFile } from '../secrets/secret-file.ts';
