/** Names in lists of tools: every place that has one, and the names that may be in it. */
import { readOwnTools } from '../own-tools.ts';
import type { AgentConfig, Config, SandboxConfig } from '../schema/schema.ts';
import { toolListNames } from '../schema/tool-names.ts';
import type { Finding } from './check.ts';
import { nearest, withGuess } from './suggest.ts';

/** A name in a list of tools, and where it is. */
export type ListedTool = { readonly pointer: string; readonly name: string };

/** Every name that a list of tools contains. */
export function listedTools(config: Config): readonly ListedTool[] {
  const { defaults, spawnDefaults, agents } = config.agents;
  const sandboxes: [string, Partial<SandboxConfig> | undefined][] = [
    ['/agents/defaults/sandbox', defaults.sandbox],
    ['/agents/spawnDefaults/sandbox', spawnDefaults.sandbox],
    ...agents.map(({ sandbox }, index): [string, typeof sandbox] => [
      `/agents/agents/${index}/sandbox`,
      sandbox,
    ]),
    ...agents.map(({ subagents }, index): [string, Partial<SandboxConfig> | undefined] => [
      `/agents/agents/${index}/subagents/sandbox`,
      subagents?.sandbox,
    ]),
  ];
  const policies: [string, AgentConfig['tools']][] = [
    ['/tools', config.tools],
    ['/agents/defaults/tools', defaults.tools],
    ...agents.map(({ tools }, index): [string, typeof tools] => [
      `/agents/agents/${index}/tools`,
      tools,
    ]),
  ];
  const lists: [string, readonly string[] | undefined][] = [
    ...policies.flatMap(([pointer, tools]): [string, readonly string[] | undefined][] => [
      [`${pointer}/allow`, tools?.allow],
      [`${pointer}/deny`, tools?.deny],
    ]),
    ...sandboxes.flatMap(([pointer, sandbox]): [string, readonly string[] | undefined][] => [
      [`${pointer}/allowlist`, sandbox?.allowlist],
      [`${pointer}/denylist`, sandbox?.denylist],
    ]),
  ];
  return lists.flatMap(([pointer, names = []]) =>
    names.map((name, index) => ({ pointer: `${pointer}/${index}`, name })),
  );
}

/**
 * A misspelled name in a deny list would deny nothing. Names that begin with the id of a plugin
 * pass: its manifest has them (installation/plugin-rules.ts). So do names of a configured MCP
 * server.
 * @param given names of the tools of the program; absent: of the one that ran last in the data
 * folder
 */
export function knownTools(config: Config, given?: readonly string[]): Finding[] {
  const plugins = Object.keys(config.plugins.entries);
  const servers = Object.keys(config.mcp.servers);
  const last = readOwnTools(config.home);
  const own = given ?? last;
  return listedTools(config).flatMap(({ pointer, name }) =>
    toolListNames.includes(name) ||
    own.includes(name) ||
    plugins.some((id) => isOfPlugin(id, name)) ||
    servers.some((server) => isOfMcpServer(server, name))
      ? []
      : [unknownTool(pointer, name, [...toolListNames, ...own], last.includes(name))],
  );
}

/** Tools of a plugin, and the group of all of them. */
export const isOfPlugin = (id: string, name: string): boolean =>
  name === id || name.startsWith(`${id}_`) || name === `group:${id}`;

const isOfMcpServer = (server: string, name: string): boolean =>
  name.startsWith(`mcp__${server}__`) || name === `group:mcp:${server}`;

const unknownTool = (
  pointer: string,
  name: string,
  known: readonly string[],
  isOfLast: boolean,
): Finding => ({
  pointer,
  value: JSON.stringify(name),
  message: isOfLast ? OF_OTHER_PROGRAM : ofNoTool(nearest(name, known)),
  allowed: known.join(', '),
});

/** Two sentences: a question ends the first one where there is a guess. */
const ofNoTool = (guess: string | undefined): string =>
  `${withGuess('no tool or group has this name', guess)}${guess ? '' : '.'} ${OWN_TOOLS}`;

const OWN_TOOLS =
  'A tool of your own program is known once the program has passed it to startTroupe({ tools }) and was started';

const OF_OTHER_PROGRAM =
  'a tool of the program that last ran with this data folder, which this process does not have: start that program instead, or remove the name';
