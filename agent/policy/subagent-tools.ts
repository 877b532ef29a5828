/**
 * Subagent tools: which tools a subagent gets of those that were asked for it. Pure.
 *
 * Invariants:
 *  1. What the lists refuse is never among them, by whichever name or group it was asked for.
 *  2. Each tool that was asked for and is not given is in `cut`, once, with what refuses it.
 *  3. When nothing is left the lists deny everything: an empty list of allowed names would allow
 *     all.
 *  4. A subagent gives nobody a tool that it was not given itself.
 */
import type { SandboxPolicy } from '../../protocols/agent.ts';
import { type Listed, names } from './lists.ts';
import type { TalkRules } from './talk.ts';

/** A tool, or a name that means none, and why the subagent does not have it. */
export type CutTool = { readonly tool: string; readonly rule: string };

type Lists = Pick<SandboxPolicy, 'allow' | 'deny'>;
/** Where people find the lists. */
export type ListPlaces = { readonly allow: string; readonly deny: string };

/** Of a subagent that starts others: its own lists are asked last. */
const GIVEN: ListPlaces = { allow: 'what you were given', deny: 'what you were given' };

/**
 * `asked`: names, other names and groups; undefined, or with `*` in it: all that the lists leave.
 * `given`: what the one who asks was given itself, where it is a subagent.
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
    if (meant.length === 0) cut.set(entry, 'there is no such tool here');
    for (const tool of meant) {
      const rule = refusing(tool, lists, places) ?? (given && refusing(tool, given, GIVEN));
      if (rule === undefined) left.add(tool.name);
      else cut.set(tool.name, rule);
    }
  }
  const deny = left.size > 0 ? lists.deny : ['*'];
  return { allow: [...left], deny, cut: [...cut].map(([tool, rule]) => ({ tool, rule })) };
}

/** All that both lists leave, by name. */
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

/** Where the lists of subagents of that agent stand. */
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
