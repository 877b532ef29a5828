/**
 * The check of `troupe doctor` on conversations between agents: settings that another setting
 * disables.
 */
import type { Config } from '../../runtime/config/index.ts';
import type { Finding } from './doctor-finding.ts';

const CHECK = 'agents that talk';

/** One finding for each such setting; one `ok` finding if there is none. */
export function talk(config: Config): readonly Finding[] {
  const idle = [...withoutTalk(config), ...withoutDepth(config)];
  return idle.length > 0 ? idle : [{ check: CHECK, status: 'ok', message: summary(config) }];
}

const summary = ({ tools }: Config): string =>
  tools.agentToAgent.enabled
    ? 'their lists determine whose sessions they reach: troupe agents policy'
    : 'each agent reaches only its own sessions (tools.agentToAgent.enabled is false)';

function withoutTalk({ tools, agents }: Config): readonly Finding[] {
  if (tools.agentToAgent.enabled) return [];
  const lists = agents.agents.filter(({ a2a }) => a2a).map(({ id }) => `agents.agents[${id}].a2a`);
  if (tools.agentToAgent.allow) lists.unshift('tools.agentToAgent.allow');
  return withoutEffect(lists, 'tools.agentToAgent.enabled is false', 'set it to true');
}

function withoutDepth({ agents }: Config): readonly Finding[] {
  if (agents.spawnDefaults.maxSpawnDepth > 1) return [];
  const lists = agents.agents
    .filter(({ subagents }) => subagents?.allowAgents?.length)
    .map(({ id }) => `agents.agents[${id}].subagents.allowAgents`);
  const why = 'agents.spawnDefaults.maxSpawnDepth is 1, so no agent can be started';
  return withoutEffect(lists, why, 'set it to 2 or more');
}

const withoutEffect = (keys: readonly string[], why: string, remedy: string): Finding[] =>
  keys.length === 0
    ? []
    : [
        {
          check: CHECK,
          status: 'warn',
          message: `${why}: ${keys.join(', ')} ${keys.length > 1 ? 'have' : 'has'} no effect`,
          remedy: `${remedy}, or leave ${keys.length > 1 ? 'these keys' : 'this key'} out`,
        },
      ];
