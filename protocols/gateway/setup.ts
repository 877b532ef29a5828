/**
 * Reading and changing the installation: `agents.*`, `models.*`, `config.*`, `skills.*`, `tools.*`,
 * `commands.list`. Extra params of newer clients are ignored.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { configMethods } from './setup-config.ts';
import { AnyObject, Count, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

/** How clients display an agent. `avatar`: an emoji, a letter, a URL or a `data:` URL. */
const AgentIdentity = Type.Object({
  name: Optional(NonEmpty),
  emoji: Optional(NonEmpty),
  avatar: Optional(NonEmpty),
  avatarUrl: Optional(NonEmpty),
});

const AgentSummary = Type.Object({
  id: NonEmpty,
  name: Optional(NonEmpty),
  identity: Optional(AgentIdentity),
  workspace: Optional(NonEmpty),
  model: Type.Object({ primary: NonEmpty, fallbacks: Optional(Type.Array(NonEmpty)) }),
  thinkingDefault: Optional(NonEmpty),
});
export const AgentsListResult = Type.Object({
  defaultId: NonEmpty,
  mainKey: NonEmpty,
  scope: oneOf(['per-sender', 'global']),
  agents: Type.Array(AgentSummary),
});
export type AgentsListResult = Static<typeof AgentsListResult>;

/** The id is derived from the name: lower-case letters, digits, `_` and `-`. */
export const AgentsCreateParams = Type.Object({
  name: NonEmpty,
  workspace: Optional(NonEmpty),
  model: Optional(NonEmpty),
  emoji: Optional(Text),
  avatar: Optional(Text),
});
export type AgentsCreateParams = Static<typeof AgentsCreateParams>;

/** Absent: unchanged; an empty text or null: the default of all agents. */
export const AgentsUpdateParams = Type.Object({
  agentId: NonEmpty,
  name: Optional(NonEmpty),
  workspace: Optional(NonEmpty),
  model: Optional(Nullable(NonEmpty)),
  emoji: Optional(Text),
  avatar: Optional(Text),
});
export type AgentsUpdateParams = Static<typeof AgentsUpdateParams>;

/** `deleteFiles` true: moves its workspace to the trash of the data folder. Default false. */
export const AgentsDeleteParams = Type.Object({
  agentId: NonEmpty,
  deleteFiles: Optional(Type.Boolean()),
});
export type AgentsDeleteParams = Static<typeof AgentsDeleteParams>;

const AgentFile = Type.Object({
  name: NonEmpty,
  path: NonEmpty,
  missing: Type.Boolean(),
  size: Optional(Count),
  updatedAtMs: Optional(Count),
  content: Optional(Text),
});
export type AgentFile = Static<typeof AgentFile>;

const OfAgent = Type.Object({ agentId: Optional(NonEmpty), sessionKey: Optional(Text) });

const ModelChoice = Type.Object({
  id: NonEmpty,
  name: NonEmpty,
  provider: NonEmpty,
  available: Type.Boolean(),
  unavailableReason: Optional(oneOf(['missing-auth', 'auth-failed', 'cooldown'])),
  unavailableUntil: Optional(Count),
  contextWindow: Optional(Count),
  reasoning: Optional(Type.Boolean()),
  input: Optional(Type.Array(oneOf(['text', 'image']))),
});
export type ModelChoice = Static<typeof ModelChoice>;

const SkillRequirements = Type.Object({
  bins: Type.Array(Text),
  anyBins: Type.Array(Text),
  env: Type.Array(Text),
  config: Type.Array(Text),
  os: Type.Array(Text),
});
/** One skill of the agent. If it is not used, its description says why. */
const SkillStatus = Type.Object({
  name: NonEmpty,
  description: Text,
  source: NonEmpty,
  bundled: Type.Boolean(),
  filePath: NonEmpty,
  baseDir: NonEmpty,
  skillKey: NonEmpty,
  always: Type.Boolean(),
  disabled: Type.Boolean(),
  eligible: Type.Boolean(),
  modelVisible: Type.Boolean(),
  requirements: SkillRequirements,
  missing: SkillRequirements,
});
export type SkillStatus = Static<typeof SkillStatus>;

const ToolEntry = Type.Object({
  id: NonEmpty,
  label: NonEmpty,
  description: Text,
  source: oneOf(['core', 'plugin']),
  defaultProfiles: Type.Array(Text),
});
const ToolGroup = Type.Object({
  id: NonEmpty,
  label: NonEmpty,
  source: oneOf(['core', 'plugin']),
  tools: Type.Array(ToolEntry),
});
export type ToolGroup = Static<typeof ToolGroup>;

const EffectiveTool = Type.Object({
  id: NonEmpty,
  label: NonEmpty,
  description: Text,
  rawDescription: Text,
  source: Type.Literal('core'),
});

const CommandEntry = Type.Object({
  name: NonEmpty,
  nativeName: NonEmpty,
  textAliases: Type.Array(NonEmpty),
  description: Text,
  category: oneOf(['session', 'options', 'status', 'management', 'media', 'tools']),
  source: oneOf(['native', 'skill', 'plugin']),
  scope: oneOf(['text', 'native', 'both']),
  acceptsArgs: Type.Boolean(),
});

export const setupMethods = {
  'agents.list': { params: AnyObject, result: AgentsListResult, scope: 'operator.read' },
  'agents.create': {
    params: AgentsCreateParams,
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: NonEmpty,
      name: NonEmpty,
      workspace: NonEmpty,
      model: Optional(NonEmpty),
    }),
    scope: 'operator.admin',
  },
  'agents.update': {
    params: AgentsUpdateParams,
    result: Type.Object({ ok: Type.Literal(true), agentId: NonEmpty }),
    scope: 'operator.admin',
  },
  'agents.delete': {
    params: AgentsDeleteParams,
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: NonEmpty,
      removedBindings: Count,
      removed: Optional(Type.Array(AnyObject)),
      failed: Optional(Type.Array(AnyObject)),
    }),
    scope: 'operator.admin',
  },
  'agents.files.list': {
    params: Type.Object({ agentId: NonEmpty }),
    result: Type.Object({
      agentId: NonEmpty,
      workspace: NonEmpty,
      files: Type.Array(AgentFile),
    }),
    scope: 'operator.read',
  },
  'agents.files.get': {
    params: Type.Object({ agentId: NonEmpty, name: NonEmpty }),
    result: Type.Object({ agentId: NonEmpty, workspace: NonEmpty, file: AgentFile }),
    scope: 'operator.read',
  },
  'agents.files.set': {
    params: Type.Object({ agentId: NonEmpty, name: NonEmpty, content: Text }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: NonEmpty,
      workspace: NonEmpty,
      file: AgentFile,
    }),
    scope: 'operator.admin',
  },
  'agent.identity.get': {
    params: OfAgent,
    result: Type.Object({
      agentId: NonEmpty,
      name: NonEmpty,
      nameSource: oneOf(['config', 'agent', 'workspace', 'default']),
      avatar: Optional(NonEmpty),
      emoji: Optional(NonEmpty),
    }),
    scope: 'operator.read',
  },
  /**
   * `view`: `all`: every known model; `provider-config`: the models of the configured providers;
   * otherwise the models that are usable now and those assigned to agents.
   */
  'models.list': {
    params: Type.Object({
      agentId: Optional(NonEmpty),
      view: Optional(oneOf(['default', 'configured', 'provider-config', 'all'])),
    }),
    result: Type.Object({ models: Type.Array(ModelChoice) }),
    scope: 'operator.read',
  },
  'models.authStatus': {
    params: OfAgent,
    result: Type.Object({
      ts: Count,
      providers: Type.Array(
        Type.Object({
          provider: NonEmpty,
          displayName: NonEmpty,
          status: oneOf(['static', 'missing']),
          profiles: Type.Array(Type.Object({ profileId: NonEmpty, type: NonEmpty, status: Text })),
        }),
      ),
    }),
    scope: 'operator.read',
  },
  'skills.status': {
    params: OfAgent,
    result: Type.Object({
      workspaceDir: Text,
      managedSkillsDir: Text,
      agentId: NonEmpty,
      skills: Type.Array(SkillStatus),
    }),
    scope: 'operator.read',
  },
  'tools.catalog': {
    params: OfAgent,
    result: Type.Object({
      agentId: NonEmpty,
      profiles: Type.Array(Type.Object({ id: Text, label: Text })),
      groups: Type.Array(ToolGroup),
    }),
    scope: 'operator.read',
  },
  /**
   * The tools that the session's agent may call now, by its policy and by what this machine offers.
   */
  'tools.effective': {
    params: Type.Object({ agentId: Optional(NonEmpty), sessionKey: NonEmpty }),
    result: Type.Object({
      agentId: NonEmpty,
      profile: NonEmpty,
      groups: Type.Array(
        Type.Object({
          id: Type.Literal('core'),
          label: NonEmpty,
          source: Type.Literal('core'),
          tools: Type.Array(EffectiveTool),
        }),
      ),
    }),
    scope: 'operator.read',
  },
  'commands.list': {
    params: OfAgent,
    result: Type.Object({ commands: Type.Array(CommandEntry) }),
    scope: 'operator.read',
  },
  ...configMethods,
} as const satisfies MethodArea;
