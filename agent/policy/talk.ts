/**
 * Talk: the one place that decides what an agent may do with the sessions of others: see them, read
 * them, write to them, start them. docs/agent-talk.md holds the same as a table.
 *
 * Boundary: pure. Tools ask before they do; the actors keep what cannot be known before: hops,
 * visited sessions, ceilings of a tree. The refusals that can come of a configuration are all made
 * here, so that a person who reads one knows which key to change.
 *
 * Invariant: the rows of the table are asked in its order, and the first that says no is named.
 */
import type { LineageLimits } from '../../protocols/lineage.ts';
import type { SandboxPolicy } from '../../protocols/agent.ts';
import type { SpawnLimits } from '../../protocols/subagent.ts';

/** What a configuration says of it, the same for all agents of an installation. */
export type TalkRules = {
  /** `tools.agentToAgent` */
  readonly enabled: boolean;
  /** absent: every pair, as far as the agents let it */
  readonly allow?: readonly { readonly from: string; readonly to: string }[];
  /** by agent id: those that are configured */
  readonly agents: Readonly<Record<string, AgentTalk>>;
  /** what sandboxed sessions see: those that they spawned (default), or as others do */
  readonly visibility: 'spawned' | 'all';
  /** last part of the main sessions' keys */
  readonly mainKey: string;
  /** replies after the first answer, 0 to 5 */
  readonly turns: number;
  readonly lineage: LineageLimits;
  readonly spawn: SpawnRules;
};

/** `agents.agents[].a2a` and `.subagents`; an absent list allows all, an empty one nobody. */
export type AgentTalk = {
  readonly allowIncoming?: readonly string[];
  readonly allowOutgoing?: readonly string[];
  /** by reading agent, `*` for any other; absent: none */
  readonly historyAccess?: Readonly<Record<string, HistoryLevel>>;
  /** agents that it may start; absent: itself */
  readonly allowAgents?: readonly string[];
  /** how it is confined when it is started as a subagent, key by key */
  readonly sandbox?: Partial<SandboxPolicy>;
  /** as one that is started: tokens and milliseconds, instead of SpawnRules */
  readonly tokens?: number;
  readonly timeoutMs?: number;
};
export type HistoryLevel = 'none' | 'summary' | 'full';

/** `agents.spawnDefaults` */
export type SpawnRules = {
  readonly sandbox: SandboxPolicy;
  /** of one subagent: tokens, milliseconds, model calls; US dollars, 0: as many as the tree has */
  readonly tokens: number;
  readonly timeoutMs: number;
  readonly turnsMax: number;
  readonly costUsd: number;
  /** how long an ended one's session can be read, milliseconds */
  readonly keepMs: number;
  readonly limits: SpawnLimits;
};

/** Who asks. */
export type Talker = {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sandboxed: boolean;
};
/** What is asked for: a session, or the agent that is to be started. */
export type Talked = {
  readonly agentId: string;
  readonly sessionKey?: string;
  readonly spawnedBy?: string;
};
export type Access = 'list' | 'history' | 'send' | 'spawn';

export type Verdict =
  /** `level`: of `history` */
  | { readonly allowed: true; readonly level: Exclude<HistoryLevel, 'none'> }
  /** `rule`: the place in the configuration that says no, as `tools.agentToAgent.enabled` */
  | { readonly allowed: false; readonly rule: string; readonly why: string };

/**
 * Whether `who` may do that with `what`. An agent that is not configured has said nothing: no list
 * of its own, no history for others, and it may start itself only.
 */
export function judge(rules: TalkRules, who: Talker, what: Talked, access: Access): Verdict {
  if (access === 'spawn') return judgeSpawn(rules, who, what);
  // The table's first row leaves these out and its second allows them: they are asked once.
  if (what.sessionKey === who.sessionKey || what.spawnedBy === who.sessionKey) return ALLOWED;
  if (who.sandboxed && rules.visibility === 'spawned') return NOT_FROM_A_SANDBOX;
  if (what.agentId === who.agentId) return ALLOWED;
  return refusalBetween(rules, who.agentId, what.agentId) ?? historyOf(rules, who, what, access);
}

const ALLOWED: Verdict = { allowed: true, level: 'full' };

const no = (rule: string, why: string): Verdict => ({ allowed: false, rule, why });

/** As a person finds it in the file. */
const placeOf = (agentId: string, key: string): string => `agents.agents[${agentId}].${key}`;

const NOT_FROM_A_SANDBOX = no(
  'agents.defaults.sandbox.sessionToolsVisibility',
  "this session is sandboxed and reaches only itself and sessions that it spawned; 'all' lets it " +
    'reach what its agent may',
);

const NOT_ENABLED = no(
  'tools.agentToAgent.enabled',
  "agents do not reach each other's sessions here; set it to true",
);

const fits = (entry: string, id: string): boolean => entry === '*' || entry === id;
const names = (list: readonly string[], id: string): boolean =>
  list.some((entry) => fits(entry, id));

const talkOf = ({ agents }: TalkRules, agentId: string): AgentTalk =>
  Object.hasOwn(agents, agentId) ? agents[agentId]! : {};

/** What two agents say to any access of one to the sessions of the other. */
function refusalBetween(rules: TalkRules, from: string, to: string): Verdict | undefined {
  if (!rules.enabled) return NOT_ENABLED;
  if (rules.allow && !rules.allow.some((one) => fits(one.from, from) && fits(one.to, to))) {
    const why = `no pair from '${from}' to '${to}' is in this list; add it`;
    return no('tools.agentToAgent.allow', why);
  }
  const { allowOutgoing } = talkOf(rules, from);
  if (allowOutgoing && !names(allowOutgoing, to)) {
    return no(
      placeOf(from, 'a2a.allowOutgoing'),
      `agent '${from}' does not reach agent '${to}'; add '${to}' to this list`,
    );
  }
  const { allowIncoming } = talkOf(rules, to);
  if (allowIncoming && !names(allowIncoming, from)) {
    return no(
      placeOf(to, 'a2a.allowIncoming'),
      `agent '${to}' is not open to agent '${from}'; add '${from}' to this list`,
    );
  }
  return undefined;
}

/** The other agent's word about its history. */
function historyOf(rules: TalkRules, who: Talker, what: Talked, access: Access): Verdict {
  if (access !== 'history') return ALLOWED;
  const { historyAccess = {} } = talkOf(rules, what.agentId);
  const key = Object.hasOwn(historyAccess, who.agentId) ? who.agentId : '*';
  const level = historyAccess[key] ?? 'none';
  if (level !== 'none') return { allowed: true, level };
  return no(
    placeOf(what.agentId, 'a2a.historyAccess'),
    `agent '${what.agentId}' shows agent '${who.agentId}' nothing of its sessions; give ` +
      `'${who.agentId}' the value 'summary' or 'full' there`,
  );
}

function judgeSpawn(rules: TalkRules, { agentId }: Talker, what: Talked): Verdict {
  const { allowAgents = [agentId] } = talkOf(rules, agentId);
  if (names(allowAgents, what.agentId)) return ALLOWED;
  return no(
    placeOf(agentId, 'subagents.allowAgents'),
    `agent '${agentId}' may not start agent '${what.agentId}'; add '${what.agentId}' to this list`,
  );
}

/** What the agent lives by when it is started as a subagent: the defaults, then its own words. */
export function spawnRulesFor(rules: TalkRules, agentId: string): SpawnRules {
  const { spawn } = rules;
  const { sandbox, tokens, timeoutMs } = talkOf(rules, agentId);
  return {
    ...spawn,
    sandbox: { ...spawn.sandbox, ...sandbox },
    tokens: tokens ?? spawn.tokens,
    timeoutMs: timeoutMs ?? spawn.timeoutMs,
  };
}
