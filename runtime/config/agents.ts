/**
 * The agents as the rest of the program wants them: every field there, each entry laid over
 * `agents.defaults`.
 */
import { join } from 'node:path';
import type { AgentConfig, Config, SandboxConfig } from './schema.ts';

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
  /** absolute */
  readonly workspace: string;
  readonly sandbox: SandboxConfig;
  /** exactly one agent of a configuration has true */
  readonly isDefault: boolean;
};

/** All agents in the file's order; at least one. */
export function resolveAgents(config: Config): readonly ResolvedAgent[] {
  const { agents, defaults } = config.agents;
  const entries: readonly AgentConfig[] = agents.length > 0 ? agents : [{ id: soleAgentId }];
  const defaultId = (entries.find((entry) => entry.default === true) ?? entries[0])?.id;
  const folder = defaults.workspace ?? join(config.home, 'workspace');
  return entries.map((entry) => ({
    id: entry.id,
    purpose: entry.purpose,
    a2a: entry.a2a,
    subagents: entry.subagents,
    model: entry.model ?? defaults.model,
    thinkingLevel: entry.thinkingLevel ?? defaults.thinkingLevel,
    timeoutSeconds: entry.timeoutSeconds ?? defaults.timeoutSeconds,
    workspace: entry.workspace ?? join(folder, entry.id),
    sandbox: { ...defaults.sandbox, ...entry.sandbox },
    isDefault: entry.id === defaultId,
  }));
}

/**
 * The agent that gets what nobody else claims: `agents.routing.default`, else the default agent
 * (SE4).
 */
export function defaultAgent(config: Config): ResolvedAgent {
  const agents = resolveAgents(config);
  const routed = config.agents.routing.default?.agent;
  const found = agents.find(({ id }) => id === routed) ?? agents.find(({ isDefault }) => isDefault);
  if (!found) throw new Error('a configuration has at least one agent');
  return found;
}
