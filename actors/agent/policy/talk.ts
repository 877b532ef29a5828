/**
 * Talk: the one place that decides what an agent may do with the sessions of others: see them, read
 * them, write to them, start them (AA1, AA5, AA6). docs/agent-talk.md holds the same as a table.
 *
 * Boundary: pure. Tools ask before they do; the actors keep what can not be known before: hops,
 * visited sessions, ceilings of a tree.
 */
import type { LineageLimits } from '../../../protocols/lineage.ts';
import type { SandboxPolicy } from '../../../protocols/agent.ts';
import type { SpawnLimits } from '../../../protocols/subagent.ts';

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
