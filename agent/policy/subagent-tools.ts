/**
 * Subagent tools: which of the requested tools a subagent receives. Pure.
 *
 * Invariants:
 *  1. A tool that the lists refuse is never granted, whatever alias or group was requested.
 *  2. Each requested tool that is not granted is in `cut` once, with the rule that refuses it.
 *  3. When no tool remains, the lists deny everything, because an empty allow list would allow all.
 *  4. A subagent grants only tools that it has itself.
 */
import type { SandboxPolicy } from '../../protocols/agent.ts';
import { type Listed, names } from './lists.ts';
import type { TalkRules } from './talk.ts';

/** A refused tool, or an unknown name, and the rule that refuses it. */
export type CutTool = { readonly tool: string; readonly rule: string };

type Lists = Pick<SandboxPolicy, 'allow' | 'deny'>;
/** Paths of the lists in the configuration, for users. */
export type ListPlaces = { readonly allow: string; readonly deny: string };

/** For a subagent that starts others: its own lists are checked last. */
const GIVEN: ListPlaces = {
  allow: 'the tools that you were granted',
  deny: 'the tools that you were granted',
};

/**
 * `asked`: names, aliases and groups; undefined or `*`: all that the lists allow. `given`: the
 * requester's own grant, when it is a subagent.
 */
export function subagentTools(
  asked: readonly string[] | undefined,
  lists: Lists,
  places: ListPlaces,
  installed: readonly Listed[],
  given?: Lists,
): Lists & { readonly cut: readonly CutTool[] } {
  if (!asked || asked.includes('*'))
    return { ...(given ? both(lists, places, installed, given) : lists), cut: [] };
  const left = new Set<string>();
  const cut = new Map<string, string>();
  for (const entry of asked) {
    const meant = installed.filter((tool) => names(entry, tool));
    if (meant.length === 0) cut.set(entry, 'this installation has no such tool');
    for (const tool of meant) {
      const rule = refusing(tool, lists, places) ?? (given && refusing(tool, given, GIVEN));
      if (rule === undefined) left.add(tool.name);
      else cut.set(tool.name, rule);
    }
  }
  const deny = left.size > 0 ? lists.deny : ['*'];
  return { allow: [...left], deny, cut: [...cut].map(([tool, rule]) => ({ tool, rule })) };
}

/** All tools that both lists allow, by name. */
function both(lists: Lists, places: ListPlaces, installed: readonly Listed[], given: Lists): Lists {
  const all = installed.map(({ name }) => name);
  const { allow, deny } = subagentTools(all, lists, places, installed, given);
  return { allow, deny };
}

function refusing(tool: Listed, { allow, deny }: Lists, places: ListPlaces): string | undefined {
  if (deny.some((entry) => names(entry, tool))) return places.deny;
  if (allow.length > 0 && !allow.some((entry) => names(entry, tool))) return places.allow;
  return undefined;
}

/** The paths of an agent's subagent lists. */
export function subagentListPlaces({ agents }: TalkRules, agentId: string): ListPlaces {
  const own = Object.hasOwn(agents, agentId) ? agents[agentId]!.sandbox : undefined;
  const place = (isOwn: boolean, list: string): string =>
    isOwn
      ? `agents.agents[${agentId}].subagents.sandbox.${list}`
      : `agents.spawnDefaults.sandbox.${list}`;
  return {
    allow: place(own?.allow !== undefined, 'allowlist'),
    deny: place(own?.deny !== undefined, 'denylist'),
  };
}
