/**
 * What sessions, the root and operators say to an agent. An agent's address is
 * `{tenant}/agent/{agentId}`. An agent admits runs: one place where its identity, its policy and
 * its budgets decide.
 */
import type { ErrorData } from './errors.ts';
import type { SandboxPolicy } from './sandbox-policy.ts';
import type { QueueMode, Usage, Verbosity } from './session.ts';

/**
 * What an agent is. Set by configuration at every start; runs take it as it was when they were
 * admitted.
 */
export type AgentSettings = {
  readonly agentId: string;
  /** `provider/model`; default the catalog's */
  readonly model?: string;
  readonly thinking?: string;
  /** what it is for, in a sentence; part of the system prompt */
  readonly purpose?: string;
  /** whole run, milliseconds; default 600,000 */
  readonly timeoutMs: number;
  /** runs at once over all its sessions; more wait in order */
  readonly runsMax: number;
  /** tokens (in and out) per UTC day; 0: unlimited */
  readonly tokensPerDay: number;
  /** US dollars per UTC day; calls of models without a price count nothing; absent: unlimited */
  readonly costPerDayUsd?: number;
  /** ceilings of all agents of the tenant together, the same for each; absent: there are none */
  readonly tenant?: TenantCeilings;
  /** models to go on with, in order, when the one before can not answer (AL10) */
  readonly fallbacks?: readonly string[];
  readonly limits?: RunLimits;
  readonly queue?: QueueSettings;
  readonly tools?: ToolPolicy;
  readonly sandbox?: SandboxPolicy;
  readonly verbose?: Verbosity;
  /** tokens of the model's window that are kept free for the answer; default 16,384 (AL8) */
  readonly reserveTokens?: number;
};

/** Ceilings that really stop; absent: none, or the default that is named (AL9, AL10). */
export type RunLimits = {
  /** model calls of one run; default 64 */
  readonly turnsMax?: number;
  readonly tokensPerRun?: number;
  readonly costPerRunUsd?: number;
  readonly tokensPerSession?: number;
  readonly costPerSessionUsd?: number;
  /** identical calls of a tool in a row, same arguments and same result; default 4 */
  readonly identicalCallsMax?: number;
};

/** What the agents of a tenant may use together; an absent one: unlimited (AL2, AL10). */
export type TenantCeilings = {
  /** runs at once */
  readonly runsMax?: number;
  readonly tokensPerDay?: number;
  readonly costPerDayUsd?: number;
};

/** What becomes of messages that come while a run is going (AL3). */
export type QueueSettings = {
  /** default `steer` */
  readonly mode?: QueueMode;
  /** by channel, instead of `mode` */
  readonly byChannel?: Readonly<Record<string, QueueMode>>;
  /** quiet before what was collected begins, milliseconds; default 500 */
  readonly debounceMs?: number;
  /** messages that may wait; default 20 */
  readonly cap?: number;
  /**
   * past the cap: `summarize` (default) folds the oldest into a line of the next run, `old` the
   * same without its words, `refuse` refuses the newest
   */
  readonly overflow?: 'summarize' | 'old' | 'refuse';
};

/** Which tools an agent has: names and `group:` names; deny wins (SX2). */
export type ToolPolicy = {
  /** absent or empty: all */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly exec?: ExecPolicy;
};

/**
 * Which commands run on the host without a question (SX3). Sandboxed ones are never asked about.
 */
export type ExecPolicy = {
  /** `off`: none is asked about; `on-miss` (default): what no pattern allows; `always` */
  readonly ask?: 'off' | 'on-miss' | 'always';
  /** patterns of commands, as docs/sandbox.md has them */
  readonly allow?: readonly string[];
  /** how long a person has, milliseconds; default 1,800,000; then it is denied */
  readonly askForMs?: number;
};

export type { SandboxPolicy };

export type AgentConfigure = { type: 'agent.configure'; settings: AgentSettings };
/**
 * From a session: may this run begin? Answer, at once or when a slot is free: `agent.admitted` or
 * `agent.refused`.
 */
export type AgentAdmit = {
  type: 'agent.admit';
  runId: string;
  /**
   * another agent's run led to it, or to one that waits behind it, and may be waiting for that: it
   * takes no slot and no place of the tenant, for then the two could wait for each other. Also of a
   * run that has asked without it. Lineage and grants bound how many there are
   */
  nested?: true;
};
/**
 * From a session: the run has ended, or it waits no longer. `lease` as it was admitted with, absent
 * when it was not.
 */
export type AgentRelease = { type: 'agent.release'; runId: string; usage: Usage; lease?: number };
/** From a session: it was admitted when it did not wait (any more); the slot is free. */
export type AgentReturn = { type: 'agent.return'; runId: string; lease: number };
export type AgentPause = { type: 'agent.pause' };
export type AgentResume = { type: 'agent.resume' };
export type AgentRetire = { type: 'agent.retire' };
/** Patterns that an agent keeps; the oldest leave. */
export const ALLOWED_MAX = 500;
/**
 * From one of the agent's sessions or an operator: a person allowed a command for good; it is not
 * asked about again (SX3). `by`: that person. Answer, to who asks for one: AllowedPatterns;
 * FORBIDDEN to others.
 */
export type AgentAllow = { type: 'agent.allow'; pattern: string; by: string };

/** `leftOut`: patterns that made room for it. */
export type AllowedPatterns = { allowed: number; leftOut: readonly string[] };

export type AgentAdmitted = {
  type: 'agent.admitted';
  runId: string;
  settings: AgentSettings;
  /**
   * shard time at which the slot comes free by itself; 0: it holds none (`nested`). Goes back with
   * the release
   */
  lease: number;
};
export type AgentRefused = { type: 'agent.refused'; runId: string; error: ErrorData };

/** Index `agents`, key agentId. */
export type AgentRow = {
  agentId: string;
  status: 'active' | 'paused' | 'retired';
  model?: string;
  running: number;
  waiting: number;
  day: string;
  tokensToday: number;
  costTodayUsd?: number;
  /** patterns of commands that people allowed for good, newest last, at most 500 */
  allowed?: readonly { pattern: string; by: string; at: number }[];
};
