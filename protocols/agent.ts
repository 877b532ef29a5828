/**
 * What sessions, the root and operators say to an agent. An agent's address is
 * `{tenant}/agent/{agentId}`. An agent admits runs: one place where its identity, its policy and
 * its budgets decide.
 */
import type { ErrorData } from './errors.ts';
import type { Usage } from './session.ts';

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
};

export type AgentConfigure = { type: 'agent.configure'; settings: AgentSettings };
/**
 * From a session: may this run begin? Answer, at once or when a slot is free: `agent.admitted` or
 * `agent.refused`.
 */
export type AgentAdmit = { type: 'agent.admit'; runId: string };
/** From a session: the run has ended, or it waits no longer. */
export type AgentRelease = { type: 'agent.release'; runId: string; usage: Usage };
export type AgentPause = { type: 'agent.pause' };
export type AgentResume = { type: 'agent.resume' };
export type AgentRetire = { type: 'agent.retire' };

export type AgentAdmitted = { type: 'agent.admitted'; runId: string; settings: AgentSettings };
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
};
