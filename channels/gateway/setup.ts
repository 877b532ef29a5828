/**
 * Setup: what a gateway asks of the process that it is a door of: the configuration, the agents,
 * models, tools and skills, the log. The composition root gives it; a gateway without one says so.
 *
 * Boundary: a port. Whoever implements it keeps secrets out of every answer, and checks what it is
 * given: it comes from clients.
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

/** An agent as people see it. */
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

/** Changes are journaled, hold at once, and are there after a restart. */
export type AgentSetup = {
  /** At most a second old. */
  cards(): readonly AgentCard[];
  /** @throws TroupeError CONFLICT when there is one of that id; INVALID_ARGUMENT */
  create(params: AgentsCreateParams): Promise<AgentCard>;
  /** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT */
  update(params: AgentsUpdateParams): Promise<void>;
  /** Its sessions stay to be read. @throws TroupeError NOT_FOUND; FORBIDDEN for the default one */
  remove(params: AgentsDeleteParams): Promise<RemovedFiles>;
  /** The files that are part of its prompt, there or not. @throws TroupeError NOT_FOUND */
  files(agentId: string): Promise<{ workspace: string; files: readonly AgentFile[] }>;
  /** @throws TroupeError NOT_FOUND for another agent or another file */
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
  /** @throws TroupeError CONFLICT when the file is another by now; INVALID_ARGUMENT */
  set(params: ConfigSetParams): Promise<ConfigWritten>;
  patch(params: ConfigPatchParams): Promise<ConfigWritten>;
  schema(): ConfigSchemaResponse;
  /** `path`: dotted; `*` for any key or element. @throws TroupeError NOT_FOUND */
  lookup(path: string): ConfigSchemaLookup;
};

export type ModelProviderState = {
  readonly provider: string;
  /** keys that it has by name, never their values */
  readonly profiles: readonly string[];
  readonly usable: boolean;
};

export type Catalogs = {
  models(view: 'default' | 'configured' | 'provider-config' | 'all'): readonly ModelChoice[];
  providers(): readonly ModelProviderState[];
  tools(): readonly ToolGroup[];
  /** those that a session has, by policy and by what this machine has */
  toolsOf(agentId: string, sessionKey: string): Promise<readonly ToolGroup['tools'][number][]>;
  /** @throws TroupeError UNAVAILABLE when the workspace cannot be reached */
  skills(agentId: string): Promise<{
    readonly workspace: string;
    readonly shared: string;
    readonly skills: readonly SkillStatus[];
  }>;
};

/** What a gateway asks for one tenant. */
export type Setup = {
  /** the tenant has agents of its own, which its people may change */
  readonly ownsAgents: boolean;
  readonly agents: AgentSetup;
  readonly config: ConfigSetup;
  readonly catalogs: Catalogs;
  /** of this process, since it began; bounded */
  readonly logs: { tail(params: LogsTailParams): LogsTailResult };
  /** of this process; where its data is */
  readonly folder: string;
};
