/**
 * The port to the process that the gateway runs in: configuration, agents, models, tools, skills
 * and the log. The composition root implements it. Without it, the methods that need it are
 * refused.
 *
 * Boundary: an implementation returns no secrets, and validates its arguments, which come from
 * clients.
 */
import type {
  AgentFile,
  AgentsCreateParams,
  AgentsDeleteParams,
  AgentsUpdateParams,
  ConfigPatchParams,
  ConfigSchemaLookup,
  ConfigSchemaResponse,
  ConfigSetParams,
  ConfigSnapshot,
  ConfigWritten,
  LogsTailParams,
  LogsTailResult,
  ModelChoice,
  SkillStatus,
  ToolGroup,
} from '../../protocols/gateway/index.ts';

/** An agent as clients display it. */
export type AgentCard = {
  readonly id: string;
  /** `provider/model` */
  readonly model: string;
  readonly fallbacks: readonly string[];
  readonly thinking?: string;
  readonly workspace: string;
  readonly name?: string;
  readonly emoji?: string;
  readonly avatar?: string;
};

/**
 * Changes are journaled, effective immediately, and kept across restarts. `by`: who changes, for
 * the record of changes.
 */
export type AgentSetup = {
  /** At most a second old. */
  cards(): readonly AgentCard[];
  /** @throws TroupeError CONFLICT when the id exists; INVALID_ARGUMENT */
  create(params: AgentsCreateParams, by: string): Promise<AgentCard>;
  /** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT */
  update(params: AgentsUpdateParams, by: string): Promise<void>;
  /** Its sessions stay readable. @throws TroupeError NOT_FOUND; FORBIDDEN for the default agent */
  remove(params: AgentsDeleteParams, by: string): Promise<RemovedFiles>;
  /** The files of its prompt, whether they exist or not. @throws TroupeError NOT_FOUND */
  files(agentId: string): Promise<{ workspace: string; files: readonly AgentFile[] }>;
  /** @throws TroupeError NOT_FOUND for an unknown agent or file */
  file(agentId: string, name: string): Promise<{ workspace: string; file: AgentFile }>;
  /** @throws TroupeError as `file`; PAYLOAD_TOO_LARGE */
  write(
    agentId: string,
    name: string,
    content: string,
  ): Promise<{ workspace: string; file: AgentFile }>;
};
export type RemovedFiles = {
  readonly removed: readonly { readonly path: string; readonly method: 'trash' | 'missing' }[];
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
};

export type ConfigSetup = {
  get(): ConfigSnapshot;
  /** @throws TroupeError CONFLICT when the file has changed since it was read; INVALID_ARGUMENT */
  set(params: ConfigSetParams, by: string): Promise<ConfigWritten>;
  patch(params: ConfigPatchParams, by: string): Promise<ConfigWritten>;
  schema(): ConfigSchemaResponse;
  /** @param path dotted; `*` matches any key or element. @throws TroupeError NOT_FOUND */
  lookup(path: string): ConfigSchemaLookup;
};

export type ModelProviderState = {
  readonly provider: string;
  /** names of its keys, without their values */
  readonly profiles: readonly string[];
  readonly usable: boolean;
};

export type Catalogs = {
  models(view: 'default' | 'configured' | 'provider-config' | 'all'): readonly ModelChoice[];
  providers(): readonly ModelProviderState[];
  tools(): readonly ToolGroup[];
  /** the tools of a session, by policy and by what this machine provides */
  toolsOf(agentId: string, sessionKey: string): Promise<readonly ToolGroup['tools'][number][]>;
  /** whether the commands of a session run behind a boundary */
  isSandboxed(agentId: string, sessionKey: string): Promise<boolean>;
  /** @throws TroupeError UNAVAILABLE when the workspace cannot be reached */
  skills(agentId: string): Promise<{
    readonly workspace: string;
    readonly shared: string;
    readonly skills: readonly SkillStatus[];
  }>;
};

/** What a gateway needs for one tenant. */
export type Setup = {
  /** whether the tenant has its own agents, which its operators may change */
  readonly ownsAgents: boolean;
  readonly agents: AgentSetup;
  readonly config: ConfigSetup;
  readonly catalogs: Catalogs;
  /** log lines of this process since its start; bounded */
  readonly logs: { tail(params: LogsTailParams): LogsTailResult };
  /** facts about this process, and its data folder */
  readonly folder: string;
};
