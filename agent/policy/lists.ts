/**
 * Lists: which tools a session has. Entries are names, aliases (`bash` for `exec`), `group:` names,
 * and `*` for all.
 *
 * Invariants:
 *  1. Deny wins: a name that any list denies is refused, whatever other lists allow.
 *  2. Every list of allowed names must allow a tool. An empty or absent list allows all.
 *  3. A refusal names the denying entry, or the list that lacks the tool, and its place in the
 *     configuration.
 *  4. A subagent has no tool that its grant lacks, sandboxed or not.
 */
import type { AgentSettings } from '../../protocols/agent.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type { Tool } from '../tools/tool.ts';
import { confinementOf, sandboxOf } from './confinement.ts';

/** The names by which lists refer to a tool. */
export type Listed = Pick<Tool, 'name' | 'aliases' | 'groups'>;

/** One level of the configuration and its path, for users. */
type Layer = {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly allowPath: string;
  readonly denyPath: string;
};

/** Why the session does not have the tool; undefined when it has it. Pure. */
export const refusalOf = (
  tool: Listed,
  settings: AgentSettings,
  sessionKey: string,
): string | undefined => refusals(settings, sessionKey)(tool);

/** The same for many tools; it resolves the lists once. */
export const refusals = (
  settings: AgentSettings,
  sessionKey: string,
): ((tool: Listed) => string | undefined) => {
  const layers = layersOf(settings, sessionKey);
  return (tool) => refusalBy(layers, tool);
};

/** All that decides which tools a session has: equal lists refuse the same tools. */
export const listsOf = (settings: AgentSettings, sessionKey: string): unknown =>
  layersOf(settings, sessionKey).map(({ allow, deny }) => [allow, deny]);

const refusalBy = (layers: readonly Layer[], tool: Listed): string | undefined => {
  for (const { deny, denyPath } of layers) {
    const entry = deny.find((name) => names(name, tool));
    if (entry !== undefined) return `the rule ${entry} in ${denyPath} denies it`;
  }
  for (const { allow, allowPath } of layers) {
    if (allow.length > 0 && !allow.some((name) => names(name, tool)))
      return `it is not in ${allowPath} (${allow.join(', ')})`;
  }
  return undefined;
};

/** Whether an entry of a list matches the tool. */
export const names = (entry: string, { name, aliases = [], groups = [] }: Listed): boolean =>
  entry === '*' ||
  entry === name ||
  aliases.includes(entry) ||
  (entry.startsWith('group:') && groups.includes(entry.slice('group:'.length)));

/** In evaluation order: the lists of every session, then those of the sandbox. */
const layersOf = (settings: AgentSettings, sessionKey: string): readonly Layer[] => {
  const { agentId, tools = {} } = settings;
  const own: Layer = {
    allow: tools.allow ?? [],
    deny: tools.deny ?? [],
    allowPath: `tools.allow of all or of agent ${agentId}`,
    denyPath: `tools.deny of all or of agent ${agentId}`,
  };
  const { allow, deny } = sandboxOf(settings);
  if (parseSessionKey(sessionKey).type === 'subagent') return [own, granted(allow, deny)];
  if (!confinementOf(settings, sessionKey).sandboxed) return [own];
  const sandbox: Layer = {
    allow,
    deny,
    allowPath: `sandbox.allowlist of agent ${agentId}, and this session is sandboxed`,
    denyPath: `sandbox.denylist of agent ${agentId}, and this session is sandboxed`,
  };
  return [own, sandbox];
};

/** The grant of a parent also restricts a subagent on the host. */
const granted = (allow: readonly string[], deny: readonly string[]): Layer => ({
  allow,
  deny,
  allowPath: 'the tools that this subagent was granted',
  denyPath: 'the tools that this subagent was granted (agents.spawnDefaults.sandbox)',
});
