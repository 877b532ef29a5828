/**
 * Translates a configuration to the policy of conversations between agents. The rules are the same
 * for all agents of a process and are not part of agent settings. The workers of a cluster have the
 * same file, so they apply the same rules.
 */
import type { AgentTalk, TalkRules } from '../agent/policy/talk.ts';
import type { SandboxPolicy } from '../protocols/agent.ts';
import { defined } from '../protocols/defined.ts';
import type { AgentConfig, Config } from '../runtime/config/index.ts';

export function talkRulesOf(config: Config): TalkRules {
  const { tools, session, agents } = config;
  const { maxPingPongTurns, maxHops, maxMessages } = session.agentToAgent;
  const { enabled, allow } = tools.agentToAgent;
  return {
    enabled,
    ...defined({ allow }),
    agents: Object.fromEntries(agents.agents.map((one) => [one.id, talkOf(one)])),
    visibility: agents.defaults.sandbox.sessionToolsVisibility,
    mainKey: session.mainKey,
    turns: maxPingPongTurns,
    lineage: { hopsMax: maxHops, messagesMax: maxMessages },
    spawn: spawnRulesOf(config),
  };
}

/** Gives the rules of another configuration to the tools that have these, for their next calls. */
export function replaceTalkRules(rules: TalkRules, config: Config): void {
  const next = talkRulesOf(config);
  const isGone = (key: string) => !Object.hasOwn(next, key);
  for (const key of Object.keys(rules).filter(isGone)) Reflect.deleteProperty(rules, key);
  Object.assign(rules, next);
}

function spawnRulesOf({ agents: { spawnDefaults }, session }: Config): TalkRules['spawn'] {
  const { sandbox, ...ceilings } = spawnDefaults;
  const { mainKey } = session;
  return {
    sandbox: {
      mode: sandbox.mode,
      workspaceAccess: sandbox.workspaceAccess,
      allow: sandbox.allowlist,
      deny: sandbox.denylist,
      ...(mainKey === 'main' ? {} : { mainKey }),
    },
    tokens: sandbox.maxTokens,
    timeoutMs: sandbox.timeout,
    turnsMax: ceilings.maxTurns,
    costUsd: ceilings.maxCostUsd,
    keepMs: ceilings.keepMinutes * 60_000,
    limits: {
      depthMax: ceilings.maxSpawnDepth,
      concurrentMax: ceilings.maxConcurrentSpawns,
      perSessionMax: ceilings.maxSpawnsPerSession,
      perTreeMax: ceilings.maxSpawnsPerTree,
      tokensPerTree: ceilings.maxTokensPerTree,
      costPerTreeUsd: ceilings.maxCostPerTreeUsd,
      hopsMax: session.agentToAgent.maxHops,
      messagesMax: session.agentToAgent.maxMessages,
      onParentReset: ceilings.onParentReset,
    },
  };
}

/**
 * Only the lists that the agent's entry sets: a missing list has another meaning than an empty one.
 */
function talkOf({ a2a, subagents }: AgentConfig): AgentTalk {
  const { sandbox } = subagents ?? {};
  return {
    ...a2a,
    ...(subagents?.allowAgents ? { allowAgents: subagents.allowAgents } : {}),
    ...(sandbox ? { sandbox: sandboxOf(sandbox) } : {}),
    ...(sandbox?.maxTokens === undefined ? {} : { tokens: sandbox.maxTokens }),
    ...(sandbox?.timeout === undefined ? {} : { timeoutMs: sandbox.timeout }),
  };
}

type SpawnSandbox = NonNullable<NonNullable<AgentConfig['subagents']>['sandbox']>;

const sandboxOf = (given: SpawnSandbox): Partial<SandboxPolicy> => ({
  ...(given.mode ? { mode: given.mode } : {}),
  ...(given.workspaceAccess ? { workspaceAccess: given.workspaceAccess } : {}),
  ...defined({ allow: given.allowlist, deny: given.denylist }),
});
