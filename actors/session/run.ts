/**
 * Run: the pure parts of the session's chart: how its context changes and what it says to whom.
 * Every function is a function of context and event; the chart says when.
 */
import { type Address, address } from '../../protocols/address.ts';
import { ERRORS, type ErrorData } from '../../protocols/errors.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import {
  type RunAccepted,
  type RunEvent,
  type RunStatus,
  type SessionEntry,
  type SessionReceive,
  type Usage,
  runEventsTopic,
} from '../../protocols/session.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type {
  ActorInput,
  Append,
  Delivered,
  Meta,
  Publish,
  Reply,
  Tell,
} from '../../protocols/statechart.ts';
import type {
  CallModelInput,
  CallModelOutput,
  CallToolsInput,
  Pending,
  Run,
  SessionContext,
  SessionEvent,
  ToolResult,
} from './types.ts';

const RUN_TIMEOUT_MS = 600_000;
const RETRY_MS = { first: 1_000, max: 30_000 };
const PREVIEW_CHARACTERS = 120;
export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export type Args = { context: SessionContext; event: SessionEvent };

/** Time of any event: the host sends `meta` with every one, also with outcomes and timers. */
export const nowOf = (event: unknown): number => (event as { meta: Meta }).meta.now;

export function born({ self, tenant, key, now }: ActorInput): SessionContext {
  return {
    self,
    tenant,
    sessionKey: key,
    agentId: agentOf(key),
    sessionId: '',
    createdAt: now,
    updatedAt: now,
    length: 0,
    queue: [],
    run: null,
    usage: NO_USAGE,
    lastMessage: '',
  };
}

function agentOf(sessionKey: string): string {
  try {
    const parts = parseSessionKey(sessionKey);
    return 'agentId' in parts ? parts.agentId : 'main';
  } catch {
    return 'main';
  }
}

const agentAddress = ({ tenant, agentId }: SessionContext): Address =>
  address(tenant, 'agent', agentId);
/** The run; asked for only in states that have one. */
export const runOf = ({ run }: SessionContext): Run => run!;

// ---- taking messages in

/** Puts a message at the end of the queue. */
export function enqueue({ context, event }: Args): Partial<SessionContext> {
  const { meta, type: _, ...message } = event as Delivered<SessionReceive>;
  const pending: Pending = { ...message, acceptedAt: meta.now };
  return {
    queue: [...context.queue, pending],
    sessionId: context.sessionId || meta.id,
    updatedAt: meta.now,
  };
}

export function accepted({ context, event }: Args, queued: boolean): Reply {
  const { meta, runId } = event as Delivered<SessionReceive>;
  const result: RunAccepted = {
    runId,
    sessionKey: context.sessionKey,
    status: 'accepted',
    acceptedAt: meta.now,
    queued,
  };
  return { to: meta.reply, result };
}

export function queueFull({ context, event }: Args): Reply {
  const message = `the session ${context.sessionKey} has ${context.queue.length} messages waiting, which is its limit; send again when one is answered`;
  return { to: event.meta.reply, error: { code: 'RATE_LIMIT_EXCEEDED', message } };
}

// ---- a run begins

/** The oldest waiting message becomes the run. */
export function begin(context: SessionContext, now: number): Partial<SessionContext> {
  const [next, ...queue] = context.queue;
  const run: Run = {
    ...next!,
    startedAt: now,
    status: 'running',
    entries: 1,
    calls: 0,
    attempt: 0,
    usage: NO_USAGE,
  };
  return { queue, run, updatedAt: now, length: context.length + 1, lastMessage: preview(run.text) };
}

export function userEntry(context: SessionContext, now: number): Append {
  const { runId, text, sender } = runOf(context);
  return entries({ type: 'user', runId, text, at: now, ...(sender ? { sender } : {}) });
}

export const askAdmission = (context: SessionContext): Tell => ({
  to: agentAddress(context),
  event: { type: 'agent.admit', runId: runOf(context).runId },
});

export const admit = (
  context: SessionContext,
  settings: AgentSettings,
): Partial<SessionContext> => ({ run: { ...runOf(context), settings } });

/** The smallest enclosing limit wins (AL9). */
export const runTimeoutMs = (context: SessionContext): number =>
  Math.min(
    runOf(context).timeoutMs ?? RUN_TIMEOUT_MS,
    runOf(context).settings?.timeoutMs ?? RUN_TIMEOUT_MS,
  );

export const runStarted = (context: SessionContext, now: number): Publish =>
  published(context, {
    ...about(context, now),
    stream: 'lifecycle',
    phase: 'start',
    startedAt: runOf(context).startedAt,
  });

// ---- calls of the model and of tools

export function modelInput(context: SessionContext): CallModelInput {
  const { runId, entries, calls, model, thinking, extraSystemPrompt, settings } = runOf(context);
  const { sessionKey, tenant, agentId } = context;
  return {
    sessionKey,
    tenant,
    agentId,
    runId,
    entries,
    call: calls,
    ...defined({
      model: model ?? settings?.model,
      thinking: thinking ?? settings?.thinking,
      purpose: settings?.purpose,
      extraSystemPrompt,
    }),
  };
}

/** The model has answered: its words are part of the conversation from this turn on. */
export function tookAnswer(
  context: SessionContext,
  { output, now }: { output: CallModelOutput; now: number },
): Partial<SessionContext> {
  const run = runOf(context);
  return {
    length: context.length + 1,
    updatedAt: now,
    usage: sum(context.usage, output.usage),
    lastMessage: preview(output.text || context.lastMessage),
    run: {
      ...run,
      entries: run.entries + 1,
      calls: run.calls + 1,
      attempt: 0,
      usage: sum(run.usage, output.usage),
      tools: output.calls,
      answer: output.text,
      usedModel: output.model,
    },
  };
}

export function assistantEntry(
  context: SessionContext,
  output: CallModelOutput,
  now: number,
): Append {
  const { text, model, usage, stop, calls } = output;
  return entries({
    type: 'assistant',
    runId: runOf(context).runId,
    text,
    model,
    usage,
    stop,
    at: now,
    ...(calls.length > 0 ? { calls } : {}),
    ...defined({ reasoning: output.reasoning, continuation: output.continuation }),
  });
}

export const toolsInput = (context: SessionContext): CallToolsInput => ({
  sessionKey: context.sessionKey,
  tenant: context.tenant,
  agentId: context.agentId,
  runId: runOf(context).runId,
  calls: runOf(context).tools ?? [],
});

export const tookResults = (
  context: SessionContext,
  results: readonly ToolResult[],
): Partial<SessionContext> => {
  const run = runOf(context);
  return {
    length: context.length + results.length,
    run: { ...run, entries: run.entries + results.length, tools: [] },
  };
};

export const toolEntries = (
  context: SessionContext,
  results: readonly ToolResult[],
  now: number,
): Append => ({
  entries: results.map((result) => ({
    type: 'tool',
    runId: runOf(context).runId,
    ...result,
    at: now,
  })),
});

// ---- failures

/** Effects fail with ErrorData: the runtime makes it of whatever was thrown. */
export const errorOf = (error: unknown): ErrorData => error as ErrorData;

/** Longest wait that a provider may ask for; a session does not stand still for longer. */
const RETRY_AFTER_MAX_MS = 60_000;

export function isRetriable(error: unknown): boolean {
  const { code, retryAfterMs = 0 } = error as ErrorData;
  return (ERRORS[code]?.retriable ?? false) && retryAfterMs <= RETRY_AFTER_MAX_MS;
}

export const countAttempt = (
  context: SessionContext,
  error: ErrorData,
): Partial<SessionContext> => ({
  run: { ...runOf(context), attempt: runOf(context).attempt + 1, error },
});

/** Doubling, or what the provider asked for where that is longer. */
export function retryBackoffMs(context: SessionContext): number {
  const { attempt, error } = runOf(context);
  const doubled = Math.min(RETRY_MS.first * 2 ** (attempt - 1), RETRY_MS.max);
  return Math.max(doubled, error?.retryAfterMs ?? 0);
}

// ---- a run ends

/** Every way to end says how, here. */
export function ends(
  context: SessionContext,
  status: RunStatus,
  error?: ErrorData,
): Partial<SessionContext> {
  const { error: _, ...run } = runOf(context);
  return { run: { ...run, status, ...(error ? { error } : {}) } };
}

export const timedOut = (context: SessionContext): ErrorData => ({
  code: 'DEADLINE_EXCEEDED',
  message: `the run took longer than ${runTimeoutMs(context)} ms`,
});

export const tooManyCalls = (max: number): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `the run called the model ${max} times without an answer, which is its limit`,
});

export const releaseSlot = (context: SessionContext): Tell => ({
  to: agentAddress(context),
  event: { type: 'agent.release', runId: runOf(context).runId, usage: runOf(context).usage },
});

export function runEndEntry(context: SessionContext, now: number): Append {
  const { runId, status, error } = runOf(context);
  return entries({ type: 'run.end', runId, status, at: now, ...(error ? { error } : {}) });
}

export function runEnded(context: SessionContext, now: number): Publish {
  const { startedAt, usage, status, answer = '', error } = runOf(context);
  const times = { startedAt, endedAt: now };
  if (status === 'ok' || status === 'aborted') {
    return published(context, {
      ...about(context, now),
      stream: 'lifecycle',
      phase: 'end',
      ...times,
      text: answer,
      usage,
      status,
    });
  }
  const failure = error ?? { code: 'INTERNAL', message: 'the run failed without a reason' };
  return published(context, {
    ...about(context, now),
    stream: 'lifecycle',
    phase: 'error',
    ...times,
    error: failure,
    status: status as 'error' | 'timeout',
  });
}

export const afterRun = (context: SessionContext, now: number): Partial<SessionContext> => ({
  run: null,
  length: context.length + 1,
  updatedAt: now,
});

// ---- shapes

const entries = (entry: SessionEntry): Append => ({ entries: [entry] });

const about = (context: SessionContext, at: number) => ({
  runId: runOf(context).runId,
  sessionKey: context.sessionKey,
  at,
});

export const published = ({ tenant, sessionKey }: SessionContext, event: RunEvent): Publish => ({
  topic: runEventsTopic(tenant, sessionKey),
  event: { type: 'run', ...event },
});

const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  ...(a.costUsd === undefined && b.costUsd === undefined
    ? {}
    : { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) }),
});

/** The first words; a character beyond the basic plane is never cut in half. */
const preview = (text: string): string => {
  const cut = text.slice(0, PREVIEW_CHARACTERS);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
};

/** The fields that have a value: rows and entries hold no undefined. */
export function defined<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as never;
}
