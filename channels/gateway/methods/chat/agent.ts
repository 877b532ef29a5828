/**
 * `agent`: answers twice under one request id, when the run is accepted and when it ends.
 * `agent.wait`: waits for a run and starts nothing.
 */
import type { ChatCommands } from '../../tenant/chat-commands.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import {
  AGENT_WAIT_TIMEOUT_MS,
  type AgentFinal,
  type AgentParams,
  type AgentWaitParams,
  type AgentWaitResult,
  type GatewayErrorShape,
  gatewayError,
} from '../../../../protocols/gateway/index.ts';
import type { RunRow, SessionReceive } from '../../../../protocols/session.ts';
import { clientUsage } from '../../streams/run-events.ts';
import type { RunEnd } from '../../streams/live-runs.ts';
import { rowOfSession } from '../../sessions/session-model.ts';
import { messagesOf, wholeText } from '../../sessions/transcript.ts';
import { type MethodTable, published } from '../method.ts';
import { ANSWERED, refuse, type Request, respond } from '../request.ts';
import {
  accept,
  type AcceptContext,
  commandOf,
  endOf,
  refuseEmpty,
  type RunSettingsContext,
  type WaitContext,
  applyRunSettings,
} from './run.ts';
import { keyNamed, refuseStale } from '../../../../operations/sessions/find-session.ts';
import { keyOfSessionId } from '../../../../operations/sessions/list-sessions.ts';

/** What starting a run needs, and waiting for its result. */
export type AgentRunContext = AcceptContext &
  WaitContext &
  RunSettingsContext & { readonly commands: ChatCommands };

const agent = async (
  request: Request<AgentRunContext>,
  params: AgentParams,
): Promise<typeof ANSWERED> => {
  refuseEmpty(params.message, params.attachments);
  const { sessionKey, agentId } = sessionFor(request.context, params);
  if (params.provider && !params.model) throw new TroupeError('INVALID_ARGUMENT', PROVIDER_ALONE);
  // A repeated request receives the first answer, also after a reset of the session.
  const known = request.context.runs.row(params.idempotencyKey);
  if (known === undefined) {
    refuseStale(request.context, sessionKey, params.expectedExistingSessionId);
    if (params.sessionKey) refuseStale(request.context, sessionKey, params.sessionId || undefined);
  }
  const { idempotencyKey, message: text, attachments } = params;
  const written = { runId: idempotencyKey, sessionKey, agentId, text };
  const command = commandOf(request, written, attachments);
  const { runId, acceptedAt } = command
    ? { runId: idempotencyKey, acceptedAt: command.acceptedAt }
    : await accept(request, sessionKey, messageOf(request, { sessionKey, known }, params), known);
  respond(request, { runId, sessionKey, agentId, status: 'accepted', acceptedAt });
  const end = await endOf(request, { runId, sessionKey });
  if (end === 'given-up') return ANSWERED;
  if (end === 'gone') {
    throw new TroupeError(
      'NOT_FOUND',
      `run ${runId} ended, but its record no longer exists: read the transcript`,
    );
  }
  const final = await finalOf(request.context, end);
  if (end.status === 'ok') respond(request, final);
  else refuse(request, failure(end), final);
  return ANSWERED;
};

const PROVIDER_ALONE = '/provider: also name a model of this provider, or omit it';

const sessionFor = (context: AgentRunContext, { sessionKey, sessionId, agentId }: AgentParams) => {
  if (sessionKey !== undefined || sessionId === undefined || sessionId === '') {
    return keyNamed(context, { sessionKey, agentId });
  }
  return keyNamed(context, { sessionKey: keyOfSessionId(context, sessionId), agentId });
};

const messageOf = (
  request: Request<AgentRunContext>,
  to: { readonly sessionKey: string; readonly known: RunRow | undefined },
  params: AgentParams,
): Omit<SessionReceive, 'type'> => {
  const { idempotencyKey, message, extraSystemPrompt, timeout } = params;
  const model =
    params.provider && params.model ? `${params.provider}/${params.model}` : params.model;
  return {
    runId: idempotencyKey,
    text: message,
    ...applyRunSettings(request, { runId: idempotencyKey, ...to }, { ...params, model }),
    ...(extraSystemPrompt ? { extraSystemPrompt } : {}),
    ...(timeout ? { timeoutMs: timeout * 1000 } : {}),
  };
};

const finalOf = async (context: AgentRunContext, end: RunEnd): Promise<AgentFinal> => {
  const session = rowOfSession(context, end.sessionKey);
  const slash = end.model?.indexOf('/') ?? -1;
  const messages = await messagesOf(context, end);
  const texts = [...messages, await wholeText(context, end)];
  const { joined } = end;
  return {
    runId: end.runId,
    status: end.status === 'aborted' ? 'error' : end.status,
    summary: joined === undefined ? SUMMARIES[end.status] : `joined run ${joined}`,
    sessionKey: end.sessionKey,
    result: {
      payloads: texts.flatMap((text) => (text === '' ? [] : [{ text, mediaUrl: null }])),
      meta: {
        durationMs: Math.max(0, end.endedAt - (end.startedAt ?? end.endedAt)),
        ...(end.status === 'aborted' ? { aborted: true } : {}),
        ...defined({ joined }),
        ...(messages.length === 0 ? {} : { messages: messages.length }),
        agentMeta: {
          ...(session ? { sessionId: session.sessionId } : {}),
          ...(end.model && slash > 0 ? { provider: end.model.slice(0, slash) } : {}),
          ...(end.model ? { model: end.model.slice(slash + 1) } : {}),
          ...(end.usage ? { usage: clientUsage(end.usage) } : {}),
        },
      },
    },
  };
};

const SUMMARIES = {
  ok: 'completed',
  error: 'failed',
  timeout: 'timed out',
  aborted: 'aborted',
} as const;

const failure = (end: RunEnd): GatewayErrorShape => {
  if (end.status === 'timeout') {
    const message = end.error?.message ?? 'the run took longer than its limit';
    return {
      code: 'AGENT_TIMEOUT',
      message,
      details: { reason: 'DEADLINE_EXCEEDED' },
      retryable: true,
    };
  }
  if (end.error) return gatewayError(end.error);
  return gatewayError({ code: 'CANCELLED', message: `run ${end.runId} was aborted` });
};

const agentWait = async (
  request: Request<AgentRunContext>,
  { runId, timeoutMs = AGENT_WAIT_TIMEOUT_MS }: AgentWaitParams,
): Promise<AgentWaitResult | typeof ANSWERED> => {
  const end = await endOf(request, { runId }, timeoutMs);
  if (!request.connection.open) return ANSWERED;
  if (end === 'gone' || end === 'given-up') return waitTimedOut(request.context, runId, timeoutMs);
  const { startedAt, endedAt, status } = end;
  const error = end.error?.message ?? (status === 'aborted' ? 'the run was aborted' : undefined);
  return {
    runId,
    status: status === 'aborted' ? 'error' : status,
    ...defined({ startedAt }),
    endedAt,
    ...defined({ error }),
  };
};

/**
 * `pending`: the run has not ended and the request did not wait. `timeout`: the wait timed out, or
 * the run is unknown.
 */
const waitTimedOut = (
  { runs }: AgentRunContext,
  runId: string,
  timeoutMs: number,
): AgentWaitResult => {
  const row = runs.row(runId);
  return {
    runId,
    status: row !== undefined && timeoutMs === 0 ? 'pending' : 'timeout',
    ...(row?.startedAt === undefined ? {} : { startedAt: row.startedAt }),
  };
};

export const runTable: MethodTable<AgentRunContext> = [
  published('agent', agent),
  published('agent.wait', agentWait),
];
