/** `chat.send`, `chat.history`, `chat.abort`: one conversation as a page displays it. */
import type { ChatCommands } from '../../tenant/chat-commands.ts';
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import { address } from '../../../../protocols/address.ts';
import { defined } from '../../../../protocols/defined.ts';
import type {
  ChatAbortParams,
  ChatAbortResult,
  ChatHistoryParams,
  ChatMessage,
  ChatSendParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionReceive, SessionRow } from '../../../../protocols/session.ts';
import { ACCEPT_TIMEOUT_MS, HISTORY_LIMIT, HISTORY_TEXT_CHARACTERS_MAX } from '../../limits.ts';
import { endOfRow, type LiveRuns } from '../../streams/live-runs.ts';
import { mainSessionKey } from '../../../../operations/sessions/session-key.ts';
import { modelParts, sessionListRow } from '../../../../operations/sessions/session-list-row.ts';
import { subagentList } from '../../sessions/subagent-list.ts';
import { readMessages, type TranscriptScope } from '../../sessions/transcript.ts';
import { type MethodTable, published } from '../method.ts';
import { principalOf, type Request } from '../request.ts';
import {
  accept,
  type AcceptContext,
  commandOf,
  refuseEmpty,
  type RunSettingsContext,
  applyRunSettings,
} from './run.ts';
import {
  keyNamed,
  sessionNamed,
  sessionRow,
} from '../../../../operations/sessions/find-session.ts';
import { askOrThrow } from '../../../../runtime/index.ts';

/** What sending a chat message and reading the history need. */
export type ChatContext = AcceptContext &
  RunSettingsContext &
  TranscriptScope & {
    readonly commands: Pick<ChatCommands, 'accept'>;
    readonly runs: Pick<LiveRuns, 'liveRun' | 'textOf'>;
  };

/**
 * The reply arrives as `chat` events. `queued`, `acceptedAt` and `command` are extensions of
 * troupe.
 */
const chatSend = async (request: Request<ChatContext>, params: ChatSendParams) => {
  refuseEmpty(params.message, params.attachments);
  const { sessionKey, agentId } = keyNamed(request.context, params);
  const { message: text, idempotencyKey, attachments } = params;
  if (params.suppressCommandInterpretation !== true) {
    const written = { runId: idempotencyKey, sessionKey, agentId, text };
    const command = commandOf(request, written, attachments);
    if (command !== undefined) {
      const { acceptedAt, isRepeated } = command;
      const status = isRepeated ? 'ok' : 'started';
      return { runId: idempotencyKey, status, queued: false, acceptedAt, command: true };
    }
  }
  const before = request.context.runs.row(params.idempotencyKey);
  const { timeoutMs } = params;
  const message: Omit<SessionReceive, 'type'> = {
    runId: idempotencyKey,
    text,
    ...applyRunSettings(request, { runId: idempotencyKey, sessionKey, known: before }, params),
    ...(timeoutMs ? { timeoutMs } : {}),
  };
  const { runId, queued, acceptedAt } = await accept(request, sessionKey, message, before);
  if (before === undefined) return { runId, status: 'started', queued, acceptedAt };
  return { runId, status: endOfRow(before) ? 'ok' : 'in_flight', queued, acceptedAt };
};

/**
 * The last messages, oldest first, and the partial reply of a live run. A page that opens during a
 * reply displays the partial text; later `chat` events continue from there.
 */
export const chatHistory = async (request: Request<ChatContext>, params: ChatHistoryParams) => {
  const { context } = request;
  // The gateway stores no cursors: the client reads the history again.
  if (params.cursor !== undefined) return { kind: 'reset' };
  const { sessionKey, agentId } = sessionNamed(context, params);
  const { limit = HISTORY_LIMIT, offset = 0, maxChars = HISTORY_TEXT_CHARACTERS_MAX } = params;
  const read = await readMessages(context, sessionKey, { limit, offset, maxChars });
  const { total } = read;
  const { maxBytes } = params;
  const messages = maxBytes === undefined ? read.messages : newestWithin(read.messages, maxBytes);
  // Read after the transcript: a run ends in both at once, so the reply is in one of the two.
  const row = sessionRow(context, sessionKey);
  return {
    sessionKey,
    ...(row?.sessionId ? { sessionId: row.sessionId } : {}),
    messages,
    totalMessages: total,
    hasMore: total > offset + messages.length,
    pendingInputs: { items: [], total: row?.pending ?? 0 },
    ...inFlightOf(context, row),
    ...subagentList(context, sessionKey),
    ...(row?.thinking === undefined ? {} : { thinkingLevel: row.thinking }),
    ...(row?.verbose === undefined ? {} : { verboseLevel: row.verbose }),
    defaults: defaultsOf(context, agentId),
    sessionInfo: infoOf(context, sessionKey, agentId, row),
  };
};

/** Keeps at least the last message. */
const newestWithin = (messages: readonly ChatMessage[], bytes: number): readonly ChatMessage[] => {
  let left = bytes;
  for (let from = messages.length - 1; from >= 0; from--) {
    left -= Buffer.byteLength(JSON.stringify(messages[from]));
    if (left < 0 && from < messages.length - 1) return messages.slice(from + 1);
  }
  return messages;
};

/** The agent's settings, which apply where the session has none of its own. */
const defaultsOf = ({ names }: ChatContext, agentId: string) => {
  const { modelProvider = null, model = null } = modelParts(
    names.agents.find(({ id }) => id === agentId)?.model,
  );
  return { modelProvider, model, contextTokens: null };
};

/** The session as in lists; for a session without messages, what it would be. */
const infoOf = (context: ChatContext, key: string, agentId: string, row: SessionRow | undefined) =>
  row
    ? sessionListRow(context, row)
    : {
        key,
        agentId,
        kind: 'direct',
        isMain: key === mainSessionKey(context.names, agentId),
        updatedAt: null,
        archived: false,
        pinned: false,
        hasActiveRun: false,
        activeRunIds: [],
        ...modelParts(context.names.agents.find(({ id }) => id === agentId)?.model),
      };

const inFlightOf = ({ runs }: ChatContext, row: SessionRow | undefined) => {
  if (row?.status !== 'running' || row.runId === undefined) return {};
  const live = runs.liveRun(row.runId);
  const startedAt = live?.startedAt ?? runs.row(row.runId)?.startedAt;
  return {
    inFlightRun: {
      runId: row.runId,
      text: runs.textOf(row.runId),
      ...defined({ startedAt }),
    },
  };
};

const chatAbort = async (
  request: Request<ChatContext>,
  params: ChatAbortParams,
): Promise<ChatAbortResult> => {
  const { context } = request;
  const { sessionKey } = sessionNamed(context, params);
  // Sending a message would create the session.
  if (sessionRow(context, sessionKey) === undefined)
    return { ok: true, aborted: false, runIds: [] };
  const runIds = await abortRuns(request, sessionKey, params.runId);
  return { ok: true, aborted: runIds.length > 0, runIds };
};

/** Aborts the run, or all runs of the session. Returns the ids of the aborted runs. */
export const abortRuns = async (
  request: Request<TenantScope>,
  sessionKey: string,
  runId: string | undefined,
): Promise<string[]> => {
  const { system, tenant } = request.context;
  const { aborted } = await askOrThrow<{ aborted: string[] }>(
    system,
    address(tenant, 'session', sessionKey),
    { type: 'session.abort', ...defined({ runId }) },
    {
      principal: principalOf(request),
      timeoutMs: ACCEPT_TIMEOUT_MS,
      timedOut: 'the session has not answered yet, but will still abort the run',
    },
  );
  return aborted;
};

export const chatTable: MethodTable<ChatContext> = [
  published('chat.send', chatSend),
  published('chat.history', chatHistory),
  published('chat.abort', chatAbort),
];
