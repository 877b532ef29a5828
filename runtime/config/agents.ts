/**
 * The agents as the rest of the program wants them: every field there, each entry laid over
 * `agents.defaults`.
 */
import type { AgentConfig, Config, SandboxConfig } from './schema/schema.ts';
import { bothAllow } from './schema/tool-names.ts';

/** Id of the agent that there is when the configuration names none. */
export const soleAgentId = 'main';

/** One agent with nothing left open. */
export type ResolvedAgent = Pick<AgentConfig, 'id' | 'purpose' | 'a2a' | 'subagents'> & {
  /**
   * `provider/model`, or a bare name that exactly one provider has; undefined: the catalog's
   * default
   */
  readonly model: string | undefined;
  readonly thinkingLevel: Config['agents']['defaults']['thinkingLevel'];
  readonly timeoutSeconds: number;
  readonly sandbox: SandboxConfig & { readonly mainKey: string };
  readonly fallbacks: readonly string[];
  readonly limits: NonNullable<AgentConfig['limits']>;
  readonly queue: Config['messages']['queue'];
  /** of its sessions; undefined: none expires */
  readonly reset: Config['session']['reset'];
  readonly tools: ResolvedTools;
  readonly verbose: Config['agents']['defaults']['verbose'];
  readonly reserveTokens: number;
  /** 0: unlimited */
  readonly tokensPerDay: number;
  /** 0: unlimited */
  readonly costPerDayUsd: number;
  /** 0: unlimited */
  readonly runsMax: number;
  /** ceilings of all agents together, the same for each; 0: unlimited */
  readonly tenant: Config['budget'] & { readonly runsMax: number };
  /** exactly one agent of a configuration has true */
  readonly isDefault: boolean;
};

/** What is left of `tools` of all, of the defaults, and of one agent. */
export type ResolvedTools = {
  /** empty: all */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly exec: Pick<Config['tools']['exec'], 'ask' | 'allow' | 'askForMinutes'>;
};

/** The agents as they are written, in the file's order; at least one. */
export const agentsOf = ({ agents: { agents } }: Config): readonly AgentConfig[] =>
  agents.length > 0 ? agents : [{ id: soleAgentId }];

/** All agents in the file's order; at least one. */
export function resolveAgents(config: Config): readonly ResolvedAgent[] {
  const { defaults } = config.agents;
  const entries = agentsOf(config);
  const defaultId = (entries.find((entry) => entry.default === true) ?? entries[0])?.id;
  return entries.map((entry) => ({
    id: entry.id,
    purpose: entry.purpose,
    a2a: entry.a2a,
    subagents: entry.subagents,
    model: entry.model ?? defaults.model,
    thinkingLevel: entry.thinkingLevel ?? defaults.thinkingLevel,
    timeoutSeconds: entry.timeoutSeconds ?? defaults.timeoutSeconds,
    sandbox: { ...defaults.sandbox, ...entry.sandbox, mainKey: config.session.mainKey },
    fallbacks: entry.fallbacks ?? defaults.fallbacks,
    limits: { ...defaults.limits, ...entry.limits },
    queue: { ...config.messages.queue, ...defaults.queue, ...entry.queue },
    reset: config.session.reset,
    tools: toolsOf(config, entry),
    verbose: entry.verbose ?? defaults.verbose,
    reserveTokens: entry.reserveTokens ?? defaults.reserveTokens,
    tokensPerDay: entry.tokensPerDay ?? defaults.tokensPerDay,
    costPerDayUsd: entry.costPerDayUsd ?? defaults.costPerDayUsd,
    runsMax: entry.runsMax ?? defaults.runsMax,
    tenant: { ...config.budget, runsMax: config.agents.maxConcurrent },
    isDefault: entry.id === defaultId,
  }));
}

/**
 * An agent's lists narrow those of all and never widen them: what either denies is denied, what is
 * allowed both must allow.
 */
function toolsOf({ tools, agents }: Config, entry: AgentConfig): ResolvedTools {
  const own = { ...agents.defaults.tools, ...entry.tools };
  const both = bothAllow(tools.allow, own.allow ?? []);
  const { ask, allow, askForMinutes } = tools.exec;
  return {
    allow: both ?? [],
    deny: both ? [...new Set([...tools.deny, ...(own.deny ?? [])])] : ['*'],
    exec: { ask, allow, askForMinutes, ...agents.defaults.tools?.exec, ...entry.tools?.exec },
  };
}

/** The agent for messages that no rule routes: `agents.routing.default`, else the default agent. */
export function defaultAgent(config: Config): ResolvedAgent {
  const agents = resolveAgents(config);
  const routed = config.agents.routing.default?.agent;
  const found = agents.find(({ id }) => id === routed) ?? agents.find(({ isDefault }) => isDefault);
  if (!found) throw new Error('a configuration has at least one agent');
  return found;
}
