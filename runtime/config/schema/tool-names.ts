/**
 * Names that a list of tools may hold: the tools themselves, one alias, the groups, and `*` for
 * all. A name outside this table is refused at start, because a misspelled name in a deny list
 * denies nothing. Tools of later versions are in it, so that a list need not change when they come.
 */

/** Tools by group; the group `fs` is written `group:fs`. */
export const toolGroups = {
  basic: ['clock', 'calculate'],
  runtime: ['exec', 'process'],
  fs: ['read', 'write', 'edit'],
  web: ['web_search', 'web_fetch'],
  ui: ['browser', 'canvas'],
  automation: ['cron', 'nodes'],
  messaging: ['message'],
  memory: ['memory_search', 'memory_get'],
  sessions: [
    'sessions_list',
    'sessions_history',
    'sessions_send',
    'sessions_spawn',
    'subagents',
    'session_status',
  ],
  a2a: ['a2a_send', 'a2a_agents'],
} as const satisfies Record<string, readonly string[]>;

/** Another name of a tool, the same everywhere. */
export const toolAliases: Readonly<Record<string, string>> = { bash: 'exec' };

/** Every name that a tool list may hold. */
export const toolListNames: readonly string[] = [
  '*',
  // all tools of plugins, whose names are in their manifests
  'group:plugins',
  // all tools of MCP servers, whose names come from the servers
  'group:mcp',
  ...Object.keys(toolGroups).map((group) => `group:${group}`),
  ...Object.keys(toolAliases),
  ...Object.values(toolGroups).flat(),
];

/** Tools that a list names; undefined: all of them. An empty list allows all. */
function toolsNamed(list: readonly string[]): ReadonlySet<string> | undefined {
  if (list.length === 0 || list.includes('*')) return undefined;
  return new Set(list.flatMap(membersOf));
}

function membersOf(name: string): readonly string[] {
  const groups: Readonly<Record<string, readonly string[]>> = toolGroups;
  const members = name.startsWith('group:') ? groups[name.slice('group:'.length)] : undefined;
  return members ?? [toolAliases[name] ?? name];
}

/**
 * The list that allows what two lists both allow; empty: all. undefined when nothing is left, which
 * no list of allowed names can say.
 */
export function bothAllow(
  one: readonly string[],
  other: readonly string[],
): readonly string[] | undefined {
  const tools = [toolsNamed(one), toolsNamed(other)] as const;
  if (!tools[0]) return tools[1] ? other : [];
  if (!tools[1]) return one;
  const both = [...tools[0]].filter((name) => tools[1]!.has(name));
  return both.length > 0 ? both : undefined;
}
