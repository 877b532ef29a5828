/** What the composition root gives to the effects of agents. */
import type { Hooks } from './hooks/hooks.ts';
import type { ModelCatalog } from './models/catalog.ts';
import type { TalkRules } from './policy/talk.ts';
import type { SkillSettings } from './prompt/agent-files.ts';
import type { ToolRegistry } from './tools/registry.ts';
import type { ToolSystem } from './tools/tool.ts';

export type AgentServices = SkillSettings & {
  readonly catalog: ModelCatalog;
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  /** What agents may do with each other's sessions. */
  readonly talk: TalkRules;
  /** Name of this worker; absent where there is one process only. */
  readonly node?: string;
  /** Messages to actors: `System.ask`, there before the first effect runs. */
  readonly ask: ToolSystem['ask'];
};
