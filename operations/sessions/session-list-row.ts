/** One session as lists, answers and events show it, from its committed row. */
import { defined } from '../../protocols/defined.ts';
import type { SessionsListRow } from '../../protocols/gateway/index.ts';
import type { RunRow, RunStatus, SessionRow } from '../../protocols/session.ts';
import { type AgentNames, mainSessionKey } from './session-key.ts';

/** Finds the row of a run of the tenant. */
export type Runs = { row(runId: string): RunRow | undefined };

/** Optional fields that a client may request. */
type Wanted = {
  readonly includeLastMessage?: boolean;
  readonly includeDerivedTitles?: boolean;
};

export const sessionListRow = (
  { names, runs }: { readonly names: AgentNames; readonly runs: Runs },
  row: SessionRow,
  wanted: Wanted = {},
): SessionsListRow => {
  const running = row.status === 'running';
  const kind = row.sessionKey.includes(':group:') ? 'group' : 'direct';
  const isMain = row.sessionKey === mainSessionKey(names, row.agentId);
  const last = row.runId === undefined ? undefined : runs.row(row.runId);
  return {
    key: row.sessionKey,
    kind,
    // Absent before the first message.
    ...(row.sessionId === '' ? {} : { sessionId: row.sessionId }),
    agentId: row.agentId,
    ...relationsOf(row),
    ...placeOf(row),
    classification: isMain ? 'main' : row.spawnedBy ? 'subagent' : kind,
    chatType: kind,
    isMain,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lastActivityAt: row.updatedAt,
    lastInteractionAt: row.updatedAt,
    ...(running ? { status: 'running' } : last ? { status: STATUSES[last.status] } : {}),
    hasActiveRun: running,
    activeRunIds: running && row.runId !== undefined ? [row.runId] : [],
    ...(row.runId ? { lastRunId: row.runId } : {}),
    ...modelParts(row.model),
    inputTokens: row.usage.inputTokens,
    outputTokens: row.usage.outputTokens,
    ...settingsOf(row),
    // Tokens in the current context; clients compare them with the model's context window.
    totalTokens: row.contextTokens ?? 0,
    totalTokensFresh: true,
    ...(wanted.includeLastMessage && row.lastMessage
      ? { lastMessagePreview: row.lastMessage }
      : {}),
    ...(wanted.includeDerivedTitles ? titleOf(row) : {}),
  };
};

/** Rows of an older version have no title: they show their last message. */
function titleOf({ title, lastMessage = '' }: SessionRow): { readonly derivedTitle?: string } {
  const derivedTitle = title ?? lastMessage;
  return derivedTitle === '' ? {} : { derivedTitle };
}

/** Name, channel, and the parent of a subagent's session, or the session that it is forked from. */
const relationsOf = ({ label, channel, routedBy, spawnedBy, forkedFrom }: SessionRow) => ({
  ...(label === undefined ? {} : { label, displayName: label }),
  ...defined({ channel, routedBy, forkedFrom }),
  ...(spawnedBy === undefined ? {} : { spawnedBy, parentSessionKey: spawnedBy }),
});

/** Flags and category that users set. */
const placeOf = ({ archived = false, pinned = false, category }: SessionRow) => ({
  archived,
  pinned,
  ...defined({ category }),
});

/** Settings of the session; missing ones have the agent's values. */
const settingsOf = ({ thinking, verbose, reasoning, queue }: SessionRow) => ({
  ...defined({ thinkingLevel: thinking, verboseLevel: verbose }),
  ...(reasoning === undefined ? {} : { reasoningLevel: reasoning ? 'on' : 'off' }),
  ...defined({ effectiveQueueMode: queue }),
});

const STATUSES = {
  queued: 'queued',
  running: 'running',
  ok: 'done',
  error: 'failed',
  aborted: 'killed',
  timeout: 'timeout',
} as const satisfies Record<RunStatus, SessionsListRow['status']>;

/** Splits `provider/model`. */
export const modelParts = (
  model: string | undefined,
): { modelProvider?: string; model?: string } => {
  if (!model) return {};
  const slash = model.indexOf('/');
  return slash < 0
    ? { model }
    : { modelProvider: model.slice(0, slash), model: model.slice(slash + 1) };
};
