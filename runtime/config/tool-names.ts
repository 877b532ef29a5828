/**
 * Names that a list of tools may hold: the tools themselves, one alias, the groups, and `*` for all
 * (SX2, AL11). A name outside this table is refused at start, because a misspelled name in a deny
 * list denies nothing. Tools of later versions are in it, so that a list need not change when they
 * come.
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
  sessions: ['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn'],
} as const satisfies Record<string, readonly string[]>;

/** Another name of a tool, the same everywhere. */
export const toolAliases: Readonly<Record<string, string>> = { bash: 'exec' };

/** Every name that a tool list may hold. */
export const toolListNames: readonly string[] = [
  '*',
  ...Object.keys(toolGroups).map((group) => `group:${group}`),
  ...Object.keys(toolAliases),
  ...Object.values(toolGroups).flat(),
];
