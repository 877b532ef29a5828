/**
 * Subagents: agents that a session starts for a task. Messages between the session (the parent),
 * the subagent actor and its session (the child). A subagent's address is `{tenant}/subagent/{id}`,
 * its session `agent:{agentId}:subagent:{id}`.
 *
 *   tool      ─ session.spawn ─────────────────▶ parent     (reply: SpawnResult)
 *   parent    ─ subagent.reserve, subagent.go ─▶ subagent
 *   subagent  ─ session.receive ───────────────▶ child
 *   subagent ◀─ run.ended ─────────────────────  child
 *   parent   ◀─ subagent.ended ────────────────  subagent
 *   parent    ─ subagent.heard ────────────────▶ subagent
 *
 * The parent decides in one turn and keeps the ledger: a grant reduces its own budget, and
 * `subagent.ended` returns the unused part. Therefore no sequence or interleaving of spawns exceeds
 * a limit of the tree.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage } from './lineage.ts';
import type { Usage } from './models/model-usage.ts';
import type { SandboxPolicy } from './sandbox/sandbox-policy.ts';

/** Maximum number of spawns that wait for a slot of their parent; more are refused. */
export const SPAWNS_WAITING_MAX = 20;
/** Maximum length of a task with its context, and of the findings in the report message. */
export const TASK_CHARACTERS_MAX = 32_768;
export const FINDINGS_CHARACTERS_MAX = 8_192;
/** Minimum grant: a spawn with fewer tokens is refused. */
export const GRANT_TOKENS_MIN = 1_000;

/** First line of the message that reports subagent results to an agent. */
export const REPORTS_TITLE = '[Results of subagents]';

export const subagentAddress = (tenant: string, id: string): Address =>
  address(tenant, 'subagent', id);

/** Run id of the first run of its session. */
export const subagentRunId = (id: string): string => `sub-${id}`;

/** What happens to the subagents of a session that is reset or deleted. */
export type OrphanPolicy =
  /** they are killed, with their own subagents */
  | 'cascade'
  /** the reset session takes them over; for a deleted one, the agent's main session does */
  | 'adopt'
  /** they continue, and their results are not reported */
  | 'detach';

/** Limits of one session and of the tree below it (`agents.spawnDefaults`). */
export type SpawnLimits = {
  /** maximum depth of a chain of spawns, including the root */
  readonly depthMax: number;
  /** concurrent children of one session */
  readonly concurrentMax: number;
  /** children that one session may start before it is reset */
  readonly perSessionMax: number;
  /** subagents, tokens and US dollars of one tree; 0 dollars: unlimited */
  readonly perTreeMax: number;
  readonly tokensPerTree: number;
  readonly costPerTreeUsd: number;
  readonly hopsMax: number;
  /** `session.agentToAgent.maxMessages` (LineageLimits); default 200 */
  readonly messagesMax?: number;
  readonly onParentReset: OrphanPolicy;
};

/** The requested settings of a child. The parent may grant fewer tokens. */
export type SpawnTerms = {
  /** name; part of its session key */
  readonly agentId: string;
  /** the agent that admits its runs: itself, or the parent's agent if its id is not configured */
  readonly admitBy: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly purpose?: string;
  /** exact tool lists: the requested tools that the policy allows */
  readonly sandbox: SandboxPolicy;
  readonly turnsMax: number;
  /** from its start to its end, milliseconds */
  readonly timeoutMs: number;
  readonly tokens: number;
  /** US dollars; absent: the tree's limit */
  readonly costUsd?: number;
  /** true: an empty workspace of its own; false: the parent's workspace */
  readonly isolated: boolean;
  /** how long its session stays readable after its end, milliseconds */
  readonly keepMs: number;
};

/** The parent's grant. */
export type SubagentTerms = SpawnTerms & {
  /** session keys */
  readonly parent: string;
  readonly root: string;
  /** whose files it uses when it is not isolated; absent: those of its parent's agent */
  readonly workspace?: Address;
  /** depth of the child; the root has 1 */
  readonly depth: number;
  /** subagents that it may start, including theirs */
  readonly spawns: number;
};

/**
 * To a session, from a tool of its run, under the call's key: starts a subagent. Reply:
 * SpawnResult; with `wait`, when the subagent or the waiting run has ended.
 */
export type SessionSpawn = {
  type: 'session.spawn';
  /** of the subagent: a UUID derived from the call's key */
  id: string;
  /** the requesting run and call */
  runId: string;
  callId: string;
  task: string;
  label?: string;
  terms: SpawnTerms;
  limits: SpawnLimits;
  wait: boolean;
  /** false: its result is not reported, but can be queried */
  reportBack: boolean;
};

/** The outcome of a subagent. */
export type SubagentOutcome = 'completed' | 'failed' | 'timedOut' | 'killed' | 'refused';

export type SpawnResult =
  /** it runs, or waits for a slot (`queued`) */
  | {
      status: 'accepted';
      runId: string;
      childSessionKey: string;
      queued: boolean;
      /** granted */
      tokens: number;
    }
  /** nothing was started; `rule` is the limit that refused it */
  | { status: 'refused'; rule: string; error: string }
  /** with `wait`: it has ended */
  | {
      status: SubagentOutcome;
      sessionId: string;
      runId: string;
      childSessionKey: string;
      result: string;
      tokensUsed: number;
      costUsd?: number;
      /** milliseconds since its start */
      duration: number;
      error?: string;
    };

/**
 * From a tool of the session, or an operator: kills some or all children. Reply: { killed: ids }.
 */
export type SessionKill = { type: 'session.kill'; id?: string; reason?: string };

// ---- to a subagent

/** From its parent, once, as its first message: the task and the grant. */
export type SubagentReserve = {
  type: 'subagent.reserve';
  parentRunId: string;
  task: string;
  label?: string;
  terms: SubagentTerms;
  lineage: Lineage;
  reportBack: boolean;
  /** true: it waits for `subagent.go` */
  hold: boolean;
};
/** From its parent: a slot is free. */
export type SubagentGo = { type: 'subagent.go' };
/** From its parent or an operator. A repeat changes nothing. Reply: { killed: ids }. */
export type SubagentKill = { type: 'subagent.kill'; reason: string };
/**
 * From a tool of the parent, or an operator: sends a text to it. Reply: { delivered } or CONFLICT.
 */
export type SubagentSteer = { type: 'subagent.steer'; text: string };
/** From a parent that missed an earlier report: report again. */
export type SubagentReport = { type: 'subagent.report' };
/** From a parent that is deleted: report to this session instead, or to none (null). */
export type SubagentMove = { type: 'subagent.move'; parent: string | null };
/** From its parent: how the result was used. */
export type SubagentHeard = { type: 'subagent.heard'; how: ReportedBy };

/** How the agent received the result. `unknown`: the parent has no record of the subagent. */
export type ReportedBy = 'steer' | 'followup' | 'collect' | 'waited' | 'silent' | 'unknown';

// ---- from a subagent

/** To its parent, once, and again for each `subagent.report`. */
export type SubagentEnded = {
  type: 'subagent.ended';
  id: string;
  sessionKey: string;
  runId: string;
  outcome: SubagentOutcome;
  /** its findings, at most FINDINGS_CHARACTERS_MAX; complete in its transcript */
  findings: string;
  label?: string;
  /** beginning of the task */
  task: string;
  error?: ErrorData;
  /** its own usage and that of all subagents below it */
  usage: Usage;
  /** subagents that it started, including theirs */
  spawned: number;
  startedAt?: number;
  endedAt: number;
  again?: true;
};

/** State of a subagent. `reserved`: it waits for a slot. */
export type SubagentStatus = 'reserved' | 'starting' | 'running' | SubagentOutcome;

/**
 * Index `subagents`, key `{parent session key}|{id}`: open subagents, and for 28 hours ended ones
 * and those that a parent refused.
 */
export const SUBAGENTS_INDEX = 'subagents';
export const subagentRowKey = (parent: string, id: string): string => `${parent}|${id}`;
export type SubagentRow = {
  id: string;
  sessionKey: string;
  runId: string;
  agentId: string;
  parent: string;
  parentRunId: string;
  root: string;
  depth: number;
  status: SubagentStatus;
  /** why it was refused, failed or killed */
  reason?: string;
  label?: string;
  /** beginning of the task */
  task: string;
  /** granted */
  tokens: number;
  usage?: Usage;
  createdAt: number;
  startedAt?: number;
  /** shard time of its time limit; absent after the end */
  until?: number;
  endedAt?: number;
  /** absent until its result is reported */
  reported?: ReportedBy;
};
