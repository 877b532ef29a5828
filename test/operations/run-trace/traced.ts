/** Committed state as text, for tests of run traces: a reader over rows and entries of a test. */
import type { TracedApproval, TraceReader } from '../../../operations/run-trace/reader.ts';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import type { ConversationRow } from '../../../protocols/conversation.ts';
import type { RunRow, SessionEntry, SessionRow } from '../../../protocols/session.ts';
import type { SubagentRow } from '../../../protocols/subagent.ts';

export type Committed = {
  readonly runs?: readonly RunRow[];
  readonly sessions?: readonly SessionRow[];
  readonly conversations?: readonly ConversationRow[];
  readonly subagents?: readonly SubagentRow[];
  readonly entries: Readonly<Record<string, readonly SessionEntry[]>>;
  readonly cut?: readonly string[];
  readonly turns?: Readonly<Record<string, readonly ActorTurn[]>>;
  readonly approvals?: readonly TracedApproval[];
};

export const readerOf = (committed: Committed): TraceReader => ({
  run: (runId) => committed.runs?.find((row) => row.runId === runId),
  session: (key) => committed.sessions?.find((row) => row.sessionKey === key),
  conversations: (key) => committed.conversations?.filter((row) => row.requester === key) ?? [],
  subagents: (key) => committed.subagents?.filter((row) => row.parent === key) ?? [],
  turns: (key) => Promise.resolve(committed.turns?.[key] ?? []),
  approvals: (key) =>
    Promise.resolve((committed.approvals ?? []).filter(({ by }) => by.endsWith(`/${key}`))),
  entries: (key, since) =>
    Promise.resolve({
      entries: (committed.entries[key] ?? []).filter(({ at }) => at >= since),
      cut: committed.cut?.includes(key) ?? false,
    }),
});

export const MAIN = 'agent:main:main';
export const CHILD = 'agent:main:subagent:1a2b3c4d-0000-4000-8000-000000000001';
export const OTHER = 'agent:work:main';

export const user = (
  runId: string,
  at: number,
  text: string,
  more: Partial<SessionEntry & { type: 'user' }> = {},
): SessionEntry => ({ type: 'user', runId, at, text, ...more });

export const said = (
  runId: string,
  at: number,
  text: string,
  more: Partial<SessionEntry & { type: 'assistant' }> = {},
): SessionEntry => ({
  type: 'assistant',
  runId,
  at,
  text,
  model: 'offline',
  stop: 'stop',
  ...more,
});

export const asks = (runId: string, at: number, ...names: string[]): SessionEntry =>
  said(runId, at, '', { calls: names.map((name, n) => ({ id: `c${n}`, name, args: {} })) });

export const tool = (
  runId: string,
  at: number,
  name: string,
  result: unknown,
  isError = false,
): SessionEntry => ({
  type: 'tool',
  runId,
  at,
  callId: 'c0',
  name,
  result: typeof result === 'string' ? result : JSON.stringify(result),
  isError,
});

export const ended = (
  runId: string,
  at: number,
  status: 'ok' | 'error' | 'aborted' | 'timeout' = 'ok',
  message = '',
): SessionEntry => ({
  type: 'run.end',
  runId,
  at,
  status,
  ...(status === 'ok' ? {} : { error: { code: 'INTERNAL' as const, message } }),
});

export const runRow = (runId: string, sessionKey = MAIN, more: Partial<RunRow> = {}): RunRow => ({
  runId,
  sessionKey,
  status: 'ok',
  acceptedAt: 1_000,
  startedAt: 1_000,
  endedAt: 3_000,
  ...more,
});

export const subagentRow = (id: string, more: Partial<SubagentRow> = {}): SubagentRow => ({
  id,
  sessionKey: CHILD,
  runId: `run of ${id}`,
  agentId: 'main',
  parent: MAIN,
  parentRunId: 'r1',
  root: MAIN,
  depth: 2,
  status: 'completed',
  task: 'look it up',
  tokens: 50_000,
  createdAt: 1_020,
  startedAt: 1_030,
  endedAt: 1_600,
  usage: { inputTokens: 100, outputTokens: 20 },
  ...more,
});

export const conversationRow = (
  id: string,
  more: Partial<ConversationRow> = {},
): ConversationRow => ({
  id,
  requester: MAIN,
  requesterRunId: 'r1',
  target: OTHER,
  status: 'ended',
  delivered: true,
  turns: [],
  text: 'how far is it?',
  hops: 1,
  createdAt: 1_020,
  ...more,
});
