/**
 * Talk: decides what an agent may do with sessions of other agents: list, read, message or start
 * them. docs/agent-talk.md has the same rules as a table.
 *
 * Boundary: pure. Tools check before they act. The actors enforce what is only known later: hops,
 * visited sessions, limits of a tree. All refusals that follow from the configuration are made
 * here, and each names the key to change.
 *
 * Invariant: the rules are evaluated in the order of the table, and a refusal names the first rule
 * that refuses.
 */
import type { LineageLimits } from '../../protocols/lineage.ts';
import type { SandboxPolicy } from '../../protocols/agent.ts';
import type { SpawnLimits } from '../../protocols/subagent.ts';

/** The configured rules, shared by all agents of an installation. */
export type TalkRules = {
  /** `tools.agentToAgent` */
  readonly enabled: boolean;
  /** absent: every pair, as far as the agents' own lists allow it */
  readonly allow?: readonly { readonly from: string; readonly to: string }[];
  /** the configured agents, by id */
  readonly agents: Readonly<Record<string, AgentTalk>>;
  /** what sandboxed sessions may reach: sessions that they spawned (default), or all */
  readonly visibility: 'spawned' | 'all';
  /** last part of the keys of main sessions */
  readonly mainKey: string;
  /** replies after the first answer, 0 to 5 */
  readonly turns: number;
  readonly lineage: LineageLimits;
  readonly spawn: SpawnRules;
};

/** `agents.agents[].a2a` and `.subagents`; an absent list allows all agents, an empty one none. */
export type AgentTalk = {
  readonly allowIncoming?: readonly string[];
  readonly allowOutgoing?: readonly string[];
  /** by id of the reading agent, `*` for any other; absent: none */
  readonly historyAccess?: Readonly<Record<string, HistoryLevel>>;
  /** agents that it may start; absent: only itself */
  readonly allowAgents?: readonly string[];
  /** its confinement when it is started as a subagent; overrides the defaults key by key */
  readonly sandbox?: Partial<SandboxPolicy>;
  /**
   * its limits when it is started as a subagent, tokens and milliseconds; they override SpawnRules
   */
  readonly tokens?: number;
  readonly timeoutMs?: number;
};
export type HistoryLevel = 'none' | 'summary' | 'full';

/** `agents.spawnDefaults` */
export type SpawnRules = {
  readonly sandbox: SandboxPolicy;
  /**
   * limits of one subagent: tokens, milliseconds, model calls, US dollars (0: the limit of its
   * tree)
   */
  readonly tokens: number;
  readonly timeoutMs: number;
  readonly turnsMax: number;
  readonly costUsd: number;
  /** how long the session of an ended subagent can be read, milliseconds */
  readonly keepMs: number;
  readonly limits: SpawnLimits;
};

/** The requesting session. */
export type Talker = {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sandboxed: boolean;
};
/** The requested session, or the agent to start. */
export type Talked = {
  readonly agentId: string;
  readonly sessionKey?: string;
  readonly spawnedBy?: string;
};
export type Access = 'list' | 'history' | 'send' | 'spawn';

export type Verdict =
  /** `level`: for `history` */
  | { readonly allowed: true; readonly level: Exclude<HistoryLevel, 'none'> }
  /**
   * `rule`: path of the refusing rule in the configuration, such as `tools.agentToAgent.enabled`
   */
  | { readonly allowed: false; readonly rule: string; readonly why: string };

/**
 * Whether `who` may access `what`. An agent that is not configured has the defaults: no lists, no
 * shared history, and it may start only itself.
 */
export function judge(rules: TalkRules, who: Talker, what: Talked, access: Access): Verdict {
  if (access === 'spawn') return judgeSpawn(rules, who, what);
  // The first row of the table excludes these and the second allows them; this check covers both.
  if (what.sessionKey === who.sessionKey || what.spawnedBy === who.sessionKey) return ALLOWED;
  if (who.sandboxed && rules.visibility === 'spawned') return NOT_FROM_A_SANDBOX;
  if (what.agentId === who.agentId) return ALLOWED;
  return refusalBetween(rules, who.agentId, what.agentId) ?? historyOf(rules, who, what, access);
}

const ALLOWED: Verdict = { allowed: true, level: 'full' };

const no = (rule: string, why: string): Verdict => ({ allowed: false, rule, why });

/** The path as it is in the configuration file. */
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

/** Why agent `from` may not reach the sessions of agent `to`; undefined when it may. */
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

/** Applies the target agent's `historyAccess`. */
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

/**
 * The rules for an agent that is started as a subagent: the defaults, overridden by its own
 * settings.
 */
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
