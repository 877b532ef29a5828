/**
 * What doors and session actors say to each other, and what a session leaves for readers: events,
 * index rows, transcript entries, live run events. A session's address is
 * `{tenant}/session/{sessionKey}`.
 */
import type { ErrorData } from './errors.ts';

/**
 * To a session: a message of a person. The idempotency key of the request becomes `runId`. Answer:
 * RunAccepted.
 */
export type SessionReceive = {
  type: 'session.receive';
  runId: string;
  text: string;
  /** who speaks, as the door knows it */
  sender?: string;
  /** `provider/model`; default the agent's */
  model?: string;
  thinking?: string;
  extraSystemPrompt?: string;
  /** whole run, milliseconds; the smallest enclosing limit wins */
  timeoutMs?: number;
};
export type RunAccepted = {
  runId: string;
  sessionKey: string;
  status: 'accepted';
  acceptedAt: number;
  queued: boolean;
};

/**
 * To a session: stop the running or the queued run (all of them without runId). Answer: { aborted:
 * runIds }.
 */
export type SessionAbort = { type: 'session.abort'; runId?: string };

export type RunStatus = 'queued' | 'running' | 'ok' | 'error' | 'aborted' | 'timeout';
export type Usage = { inputTokens: number; outputTokens: number; costUsd?: number };

/**
 * Index `runs`, key runId (of the default tenant's table): runs that go, and for 28 hours those
 * that ended.
 */
export type RunRow = {
  runId: string;
  sessionKey: string;
  status: RunStatus;
  acceptedAt: number;
  startedAt?: number;
  endedAt?: number;
  /** final text, at most 64 KiB; whole in the transcript */
  text?: string;
  error?: ErrorData;
  usage?: Usage;
  model?: string;
};

/** Index `sessions`, key sessionKey. */
export type SessionRow = {
  sessionKey: string;
  sessionId: string;
  agentId: string;
  status: 'idle' | 'running';
  updatedAt: number;
  createdAt: number;
  /** transcript entries */
  messages: number;
  pending: number;
  model?: string;
  runId?: string;
  usage: Usage;
  /** first words of the last message, at most 120 characters */
  lastMessage?: string;
};

/** One tool call a model asks for. `args` is JSON. */
export type ToolCall = { id: string; name: string; args: unknown };

/** Entries of a session's transcript; `type` names the kind. `at` is shard time. */
export type SessionEntry =
  | { type: 'user'; runId: string; text: string; sender?: string; at: number }
  | {
      type: 'assistant';
      runId: string;
      text: string;
      calls?: readonly ToolCall[];
      reasoning?: string;
      continuation?: unknown;
      model: string;
      usage?: Usage;
      stop: string;
      at: number;
    }
  | {
      type: 'tool';
      runId: string;
      callId: string;
      name: string;
      result: string;
      isError: boolean;
      at: number;
    }
  | { type: 'run.end'; runId: string; status: RunStatus; error?: ErrorData; at: number };

/**
 * Live events of runs on Bus topic `runEventsTopic(tenant, sessionKey)`; ephemeral, in order per
 * run.
 */
export type RunEvent = { runId: string; sessionKey: string; at: number } & (
  | { stream: 'lifecycle'; phase: 'start'; startedAt: number }
  /** exactly one end or error per run */
  | {
      stream: 'lifecycle';
      phase: 'end';
      startedAt: number;
      endedAt: number;
      text: string;
      usage: Usage;
      status: 'ok' | 'aborted';
    }
  | {
      stream: 'lifecycle';
      phase: 'error';
      startedAt: number;
      endedAt: number;
      error: ErrorData;
      text?: string;
      status: 'error' | 'timeout';
    }
  /**
   * `offset` = characters of this answer before the delta; a lower offset than seen replaces what
   * came after it (a restarted call)
   */
  | { stream: 'assistant'; delta: string; offset: number; call: number }
  | { stream: 'reasoning'; delta: string; offset: number; call: number }
  | { stream: 'tool'; phase: 'start'; callId: string; name: string; args: unknown }
  | { stream: 'tool'; phase: 'end'; callId: string; name: string; result: string; isError: boolean }
);

const token = (text: string) =>
  encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('*', '%2A');
export const runEventsTopic = (tenant: string, sessionKey: string) =>
  `run.${token(tenant)}.${token(sessionKey)}`;
/** Every run event of a tenant. */
export const runEventsOfTenant = (tenant: string) => `run.${token(tenant)}.>`;
