/**
 * Subagents: agents that a session starts for a task, and what the session (the parent), the
 * subagent actor and its session (the child) say to each other (AA6 to AA8). A subagent's address
 * is `{tenant}/subagent/{id}`, its session `agent:{agentId}:subagent:{id}`.
 *
 *   tool      ─ session.spawn ─────────────────▶ parent     (answer: SpawnResult)
 *   parent    ─ subagent.reserve, subagent.go ─▶ subagent
 *   subagent  ─ session.receive ───────────────▶ child
 *   subagent ◀─ run.ended ─────────────────────  child
 *   parent   ◀─ subagent.ended ────────────────  subagent
 *   parent    ─ subagent.heard ────────────────▶ subagent
 *
 * The parent decides in its own turn and keeps the books: what it grants is taken from what it has,
 * and what was not used comes back with `subagent.ended`. So no sequence of spawns, whoever makes
 * them and however they interleave, passes a ceiling of the tree.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage } from './lineage.ts';
import type { Usage } from './model-usage.ts';
import type { SandboxPolicy } from './sandbox-policy.ts';

/** Spawns that may wait for one of the places of their parent; more are refused. */
export const SPAWNS_WAITING_MAX = 20;
/** Of a task, with its context; of the findings in the message that tells of them. */
export const TASK_CHARACTERS_MAX = 32_768;
export const FINDINGS_CHARACTERS_MAX = 8_192;
/** A grant of fewer tokens is none: the spawn is refused. */
export const GRANT_TOKENS_MIN = 1_000;

/** First line of the message that tells an agent what its subagents came to (AA8). */
export const REPORTS_TITLE = '[Results of subagents]';

export const subagentAddress = (tenant: string, id: string): Address =>
  address(tenant, 'subagent', id);

/** Of the first run of its session. */
export const subagentRunId = (id: string): string => `sub-${id}`;

/** What becomes of the children of a session that is reset or deleted. */
export type OrphanPolicy =
  /** they are killed, and their own with them */
  | 'cascade'
  /** the session that begins anew takes them over; of a deleted one the agent's main session */
  | 'adopt'
  /** they end, and nobody is told */
  | 'detach';

/** Ceilings of one session and of the tree that it is the root of (`agents.spawnDefaults`). */
export type SpawnLimits = {
  /** agents in a chain of spawns, the root counted */
  readonly depthMax: number;
  /** children of one session at once */
  readonly concurrentMax: number;
  /** children that one session may start until it is reset */
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

/** What a child lives by, as it was asked for. Its tokens are a wish: the parent may have fewer. */
export type SpawnTerms = {
  /** who it is; part of its session key */
  readonly agentId: string;
  /**
   * the agent that admits its runs: itself, or the parent's when nothing is configured under its id
   */
  readonly admitBy: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly purpose?: string;
  /** its lists are exact: what was asked for and policy leaves */
  readonly sandbox: SandboxPolicy;
  readonly turnsMax: number;
  /** from its start to its end, milliseconds */
  readonly timeoutMs: number;
  readonly tokens: number;
  /** US dollars; absent: as many as the tree has */
  readonly costUsd?: number;
  /** true: a workspace of its own, empty; false: that of its parent */
  readonly isolated: boolean;
  /** how long its session can be read after its end, milliseconds */
  readonly keepMs: number;
};

/** What the parent grants. */
export type SubagentTerms = SpawnTerms & {
  /** session keys */
  readonly parent: string;
  readonly root: string;
  /** whose files it works on where it is not isolated; absent: its parent's agent's */
  readonly workspace?: Address;
  /** of the child; the root has 1 */
  readonly depth: number;
  /** subagents that it may start itself, with theirs */
  readonly spawns: number;
};

/**
 * To a session, from a tool of its run, under the call's key: start a subagent. Answer:
 * SpawnResult; with `wait` when the subagent has ended, or the run that waits has.
 */
export type SessionSpawn = {
  type: 'session.spawn';
  /** of the subagent: a uuid made of the call's key */
  id: string;
  /** the run and the call that ask */
  runId: string;
  callId: string;
  task: string;
  label?: string;
  terms: SpawnTerms;
  limits: SpawnLimits;
  wait: boolean;
  /** false: nobody is told of its end; it can be looked up */
  reportBack: boolean;
};

/** How a subagent ended. */
export type SubagentOutcome = 'completed' | 'failed' | 'timedOut' | 'killed' | 'refused';

export type SpawnResult =
  /** it runs, or waits for a place (`queued`) */
  | {
      status: 'accepted';
      runId: string;
      childSessionKey: string;
      queued: boolean;
      /** granted */
      tokens: number;
    }
  /** nothing was started; `rule` names the limit */
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
      /** milliseconds from its start */
      duration: number;
      error?: string;
    };

/**
 * From a tool of the session, or an operator: end children, or all of them. Answer:
 * { killed: ids }.
 */
export type SessionKill = { type: 'session.kill'; id?: string; reason?: string };

// ---- to a subagent

/** From its parent, once, and its first message: these are your task and your grant. */
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
/** From its parent: there is a place. */
export type SubagentGo = { type: 'subagent.go' };
/** From its parent or an operator. A second one changes nothing. Answer: { killed: ids }. */
export type SubagentKill = { type: 'subagent.kill'; reason: string };
/** From a tool of the parent, or an operator: say this to it. Answer: { delivered } or CONFLICT. */
export type SubagentSteer = { type: 'subagent.steer'; text: string };
/** From its parent, when it had answered a run that ended before it knew: tell me again. */
export type SubagentReport = { type: 'subagent.report' };
/** From a parent that goes: your end concerns this session now, or nobody (null). */
export type SubagentMove = { type: 'subagent.move'; parent: string | null };
/** From its parent: what became of its end. */
export type SubagentHeard = { type: 'subagent.heard'; how: ReportedBy };

/** How a result came back: see AA8. `unknown`: the parent knows nothing of it any more. */
export type ReportedBy = 'steer' | 'followup' | 'collect' | 'waited' | 'silent' | 'unknown';

// ---- from a subagent

/** To its parent, once, and again for each `subagent.report`. */
export type SubagentEnded = {
  type: 'subagent.ended';
  id: string;
  sessionKey: string;
  runId: string;
  outcome: SubagentOutcome;
  /** what it found, at most FINDINGS_CHARACTERS_MAX; whole in its transcript */
  findings: string;
  label?: string;
  /** first words */
  task: string;
  error?: ErrorData;
  /** its own and that of all below it */
  usage: Usage;
  /** subagents that it has started, with theirs */
  spawned: number;
  startedAt?: number;
  endedAt: number;
  again?: true;
};

/** Where a subagent is. `reserved`: it waits for a place. */
export type SubagentStatus = 'reserved' | 'starting' | 'running' | SubagentOutcome;

/**
 * Index `subagents`, key `{parent session key}|{id}`: what goes on, and for 28 hours what has ended
 * and what a parent has refused.
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
  /** first words */
  task: string;
  /** granted */
  tokens: number;
  usage?: Usage;
  createdAt: number;
  startedAt?: number;
  /** shard time at which it ends by itself; absent when it has ended */
  until?: number;
  endedAt?: number;
  /** absent while its end is not told */
  reported?: ReportedBy;
};
