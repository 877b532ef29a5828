/**
 * Messages and rows of an agent. Sessions, the root and operators send the messages. An agent's
 * address is `{tenant}/agent/{agentId}`. The agent admits runs: it applies its identity, its policy
 * and its budgets in one place.
 */
import type { ErrorData } from './errors.ts';
import type { SandboxPolicy } from './sandbox/sandbox-policy.ts';
import type { QueueMode, Usage, Verbosity } from './session.ts';

/**
 * Settings of an agent. The configuration sets them at every start; a run keeps the settings with
 * which it was admitted.
 */
export type AgentSettings = {
  readonly agentId: string;
  /** `provider/model`; default: the catalog's default model */
  readonly model?: string;
  readonly thinking?: string;
  /** what the agent is for, in a sentence; part of the system prompt */
  readonly purpose?: string;
  /** of the complete run, milliseconds; default 600,000 */
  readonly timeoutMs: number;
  /** concurrent runs over all sessions of the agent; further runs wait in order; 0: unlimited */
  readonly runsMax: number;
  /** tokens (in and out) per UTC day; 0: unlimited */
  readonly tokensPerDay: number;
  /** US dollars per UTC day; models without a price count as 0; absent: unlimited */
  readonly costPerDayUsd?: number;
  /** ceilings for all agents of the tenant together, the same in each; absent: none */
  readonly tenant?: TenantCeilings;
  /** models to use, in order, when the previous one is unavailable */
  readonly fallbacks?: readonly string[];
  readonly limits?: RunLimits;
  readonly queue?: QueueSettings;
  readonly tools?: ToolPolicy;
  readonly sandbox?: SandboxPolicy;
  readonly verbose?: Verbosity;
  /** when the next message starts its session over; absent: never */
  readonly expiry?: SessionExpiry;
  /** tokens of the model's context window that are reserved for the answer; default 16,384 */
  readonly reserveTokens?: number;
};

/** A session ends at the first of these; an absent one does not end it. */
export type SessionExpiry = {
  /** local hour, 0 to 23, that separates the days of a session */
  readonly atHour?: number;
  /** IANA name; default UTC */
  readonly timeZone?: string;
  /** milliseconds since the last message of a person */
  readonly idleMs?: number;
};

/** Hard limits of a run; absent: none, or the default stated here. */
export type RunLimits = {
  /** model calls per run; default 64 */
  readonly turnsMax?: number;
  readonly tokensPerRun?: number;
  readonly costPerRunUsd?: number;
  readonly tokensPerSession?: number;
  readonly costPerSessionUsd?: number;
  /** identical consecutive calls of a tool with the same result; default 4 */
  readonly identicalCallsMax?: number;
};

/** Limits for all agents of a tenant together; an absent one: unlimited. */
export type TenantCeilings = {
  /** concurrent runs */
  readonly runsMax?: number;
  readonly tokensPerDay?: number;
  readonly costPerDayUsd?: number;
};

/** What an absent setting of the queue means. */
export const QUEUE_DEFAULTS = {
  mode: 'steer',
  debounceMs: 500,
  cap: 20,
  overflow: 'summarize',
} as const satisfies QueueSettings;

/** How the session treats messages that arrive during a run. */
export type QueueSettings = {
  /** default `steer` */
  readonly mode?: QueueMode;
  /** by channel; overrides `mode` */
  readonly byChannel?: Readonly<Record<string, QueueMode>>;
  /** milliseconds without a new message before a run starts with the collected ones; default 500 */
  readonly debounceMs?: number;
  /** maximum number of queued messages, 1 to QUEUE_CAP_MAX; default 20 */
  readonly cap?: number;
  /**
   * when the queue is full: `summarize` (default) replaces the oldest by a line in the next run,
   * `old` drops the oldest without its text, `refuse` refuses the newest
   */
  readonly overflow?: 'summarize' | 'old' | 'refuse';
};

/** Of queued messages; their bytes have a limit of their own. */
export const QUEUE_CAP_MAX = 1_000;

/** Which tools an agent has: names and `group:` names; deny has priority. */
export type ToolPolicy = {
  /** absent or empty: all */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly exec?: ExecPolicy;
};

/** Which commands run on the host without approval. Sandboxed commands need none. */
export type ExecPolicy = {
  /**
   * `off`: no command needs approval; `on-miss` (default): those that no pattern allows; `always`
   */
  readonly ask?: 'off' | 'on-miss' | 'always';
  /** patterns of commands, see docs/sandbox.md */
  readonly allow?: readonly string[];
  /** time for the decision, milliseconds; default 1,800,000; then the command is denied */
  readonly askForMs?: number;
};

export type { SandboxPolicy };

export type AgentConfigure = { type: 'agent.configure'; settings: AgentSettings };
/**
 * From a session, or a batch of embeddings: requests admission of a run. Reply, at once or when a
 * slot is free: `agent.admitted` or `agent.refused`.
 */
export type AgentAdmit = {
  type: 'agent.admit';
  runId: string;
  /**
   * The run was caused, directly or through a queue, by a run of another agent that may wait for
   * it. It takes no slot and no tenant slot, because the two could otherwise wait for each other.
   * May be set on a later request for the same run. A batch of embeddings takes none, because it
   * lasts for hours. Lineage and grants limit the number of such
   * runs.
   */
  nested?: true;
};
/**
 * From a session: the run ended or no longer waits. `lease` is the one of its admission; absent
 * when the run was not admitted.
 */
export type AgentRelease = { type: 'agent.release'; runId: string; usage: Usage; lease?: number };
/**
 * From a session: the run was admitted after the session had stopped waiting. The agent frees the
 * slot.
 */
export type AgentReturn = { type: 'agent.return'; runId: string; lease: number };
export type AgentPause = { type: 'agent.pause' };
export type AgentResume = { type: 'agent.resume' };
export type AgentRetire = { type: 'agent.retire' };
/** Maximum number of patterns that an agent stores; the oldest is dropped first. */
export const ALLOWED_MAX = 500;
/**
 * From one of the agent's sessions or an operator: `by` allowed a command permanently, so it needs
 * no approval again. Reply on request: AllowedPatterns; FORBIDDEN to other senders.
 */
export type AgentAllow = { type: 'agent.allow'; pattern: string; by: string };

/** `leftOut`: patterns that were dropped to make room. */
export type AllowedPatterns = { allowed: number; leftOut: readonly string[] };

export type AgentAdmitted = {
  type: 'agent.admitted';
  runId: string;
  settings: AgentSettings;
  /**
   * shard time at which the slot expires; 0: the run has no slot (`nested`, or the agent has no
   * limit). The release returns it
   */
  lease: number;
  /**
   * standing lease: further runs of the session need no admission while the agent's row names it.
   * Absent where a limit or a budget applies
   */
  standing?: string;
};
export type AgentRefused = { type: 'agent.refused'; runId: string; error: ErrorData };

/** Index `agents`, key agentId. */
export type AgentRow = {
  agentId: string;
  status: 'active' | 'paused' | 'retired';
  model?: string;
  /** runs that hold a slot; without `runsMax` none does */
  running: number;
  waiting: number;
  day: string;
  tokensToday: number;
  costTodayUsd?: number;
  /** the standing lease of its sessions; absent while each run needs an admission */
  standing?: string;
  /** command patterns that users allowed permanently, newest last, at most 500 */
  allowed?: readonly { pattern: string; by: string; at: number }[];
};

/** Index of the days that are over; keys are `YYYY-MM-DD/AGENT`, kept for DAY_ROWS_KEPT_MS. */
export const AGENT_DAYS_INDEX = 'agent_days';
export const DAY_ROWS_KEPT_MS = 400 * 86_400_000;

/** What the runs of an agent used that ended on one UTC day. */
export type AgentDay = {
  readonly agentId: string;
  readonly day: string;
  readonly tokens: number;
  readonly costUsd: number;
};
