/**
 * `sessions.create`, `.send`, `.steer`, `.abort`: create a session, send to it, and abort its runs.
 * `sessions.subscribe` and related methods: which events a connection receives (SessionWatch).
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { SessionWatch } from '../../streams/session-watch.ts';
import { randomUUID } from 'node:crypto';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  SessionsAbortParams,
  SessionsCreateParams,
  SessionsCreateResult,
  SessionsMessagesSubscribeParams,
  SessionsMessagesUnsubscribeParams,
  SessionsSendParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionReceive } from '../../../../protocols/session.ts';
import { sessionKey as keys } from '../../../../protocols/session-key.ts';
import type { SessionSet } from '../../../../protocols/session-settings.ts';
import { CHOICE_PATHS, checkModelChoice } from '../../../../protocols/models/model-choice.ts';
import { mayDecide, type PendingApprovals } from '../../tenant/pending-approvals.ts';
import { modelNow } from '../../sessions/session-model.ts';
import { endOfRow } from '../../streams/live-runs.ts';
import { absentTable } from '../absent.ts';
import { abortRuns } from '../chat/chat.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import {
  accept,
  type AcceptContext,
  refuseEmpty,
  type RunSettingsContext,
  applyRunSettings,
} from '../chat/run.ts';
import {
  keyNamed,
  sessionNamed,
  sessionRow,
} from '../../../../operations/sessions/find-session.ts';
import { askSession } from './session-settings.ts';

/** What creating sessions, writing to them and following them needs. */
export type SessionWorkContext = AcceptContext &
  RunSettingsContext & {
    readonly watch: SessionWatch;
    readonly approvals: Pick<PendingApprovals, 'list'>;
    readonly clock: Clock;
  };

/** Repeating an idempotency key creates the same session and sends the same first message. */
const sessionsCreate = async (
  request: Request<SessionWorkContext>,
  params: SessionsCreateParams,
): Promise<SessionsCreateResult> => {
  const { context } = request;
  validateFirstMessage(params);
  const { label = params.displayName, category, model, thinkingLevel } = params;
  const agentId = params.agentId ?? agentOfParent(request, params.parentSessionKey);
  const name = params.idempotencyKey ?? randomUUID();
  const { sessionKey: key } = keyNamed(context, {
    sessionKey: params.key ?? keys.main(agentId ?? context.names.defaultAgentId, `new-${name}`),
    ...defined({ agentId }),
  });
  checkModelChoice(context.models, { model, thinking: thinkingLevel }, modelNow(context, key), {
    ...CHOICE_PATHS,
    thinking: '/thinkingLevel',
  });
  const message: SessionSet = {
    type: 'session.set',
    ...defined({ label, category, model, thinking: thinkingLevel }),
  };
  const entry = (await askSession<object | undefined>(request, key, message)) ?? {};
  context.watch.publishChange(key, 'create');
  const text = params.message ?? params.task;
  const sessionId = sessionRow(context, key)?.sessionId || undefined;
  const made = { ok: true, key, ...defined({ sessionId }) } as const;
  const settings = { ...entry, ...defined({ sessionId }) };
  if (text === undefined || text.trim() === '') return { ...made, entry: settings };
  const { attachments } = params;
  const { runId } = await sendMessage(request, key, {
    message: text,
    idempotencyKey: `${name}:first`,
    ...defined({ attachments }),
  });
  return { ...made, entry: settings, runStarted: true, runId };
};

/** @throws TroupeError INVALID_ARGUMENT for parameters that the first message would ignore */
const validateFirstMessage = ({ message, task, attachments = [] }: SessionsCreateParams): void => {
  if (message !== undefined && task !== undefined && message !== task)
    throw new TroupeError('INVALID_ARGUMENT', '/task: /message already contains the first message');
  const text = message ?? task ?? '';
  if (attachments.length > 0 && text.trim() === '')
    throw new TroupeError('INVALID_ARGUMENT', '/attachments require a /message');
};

/** A session that is created from another one has the same agent. */
const agentOfParent = (
  { context }: Request<SessionWorkContext>,
  parent: string | undefined,
): string | undefined => {
  if (parent === undefined) return undefined;
  const agentId = sessionRow(context, parent)?.agentId;
  return context.names.agents.some(({ id }) => id === agentId) ? agentId : undefined;
};

type NewMessage = Omit<SessionsSendParams, 'key' | 'agentId' | 'idempotencyKey'> & {
  readonly idempotencyKey: string;
};

const sendMessage = async (
  request: Request<SessionWorkContext>,
  key: string,
  sent: NewMessage,
  queueMode?: 'interrupt',
) => {
  refuseEmpty(sent.message, sent.attachments);
  const { message: text, idempotencyKey: runId, timeoutMs, thinking, attachments } = sent;
  const before = request.context.runs.row(runId);
  const settings = {
    ...defined({ thinking, attachments, queueMode }),
  };
  const message: Omit<SessionReceive, 'type'> = {
    runId,
    text,
    ...applyRunSettings(request, { runId, sessionKey: key, known: before }, settings),
    ...(timeoutMs ? { timeoutMs } : {}),
  };
  const accepted = await accept(request, key, message, before);
  const status = before === undefined ? 'started' : endOfRow(before) ? 'ok' : 'in_flight';
  return { runId: accepted.runId, status, queued: accepted.queued };
};

/** The session must exist, so that a mistyped key does not create one. */
const sendTo =
  (queueMode?: 'interrupt') =>
  (request: Request<SessionWorkContext>, params: SessionsSendParams) => {
    const { key, agentId, idempotencyKey = randomUUID(), ...sent } = params;
    const row = sessionRow(request.context, key, agentId);
    if (row === undefined) {
      throw new TroupeError('NOT_FOUND', `session not found: ${key.slice(0, 80)}`);
    }
    return sendMessage(request, row.sessionKey, { ...sent, idempotencyKey }, queueMode);
  };

const sessionsAbort = async (request: Request<SessionWorkContext>, params: SessionsAbortParams) => {
  const { context } = request;
  const { runId } = params;
  const key = params.key ?? (runId === undefined ? undefined : context.runs.row(runId)?.sessionKey);
  if (key === undefined && runId === undefined) {
    throw new TroupeError('INVALID_ARGUMENT', 'pass key, runId, or both');
  }
  const row = key === undefined ? undefined : sessionRow(context, key, params.agentId);
  const aborted = row ? await abortRuns(request, row.sessionKey, runId) : [];
  const status = aborted.length > 0 ? 'aborted' : 'no-active-run';
  return { ok: true, abortedRunId: aborted[0] ?? null, status };
};

const subscribe = ({ context, connection }: Request<SessionWorkContext>) => {
  context.watch.watch(connection);
  return { subscribed: true };
};

const unsubscribe = ({ context, connection }: Request<SessionWorkContext>) => {
  context.watch.unwatch(connection);
  return { subscribed: false };
};

/** The session need not exist yet: the connection follows it from its first message. */
const messagesSubscribe = async (
  request: Request<SessionWorkContext>,
  params: SessionsMessagesSubscribeParams,
) => {
  const { context, connection } = request;
  const { sessionKey: key, agentId } = keyIn(request, params);
  await context.watch.follow(connection, key);
  if (params.includeApprovals !== true) return { subscribed: true, key };
  return { subscribed: true, key, approvalReplay: approvalReplay(request, key, agentId) };
};

const messagesUnsubscribe = (
  request: Request<SessionWorkContext>,
  params: SessionsMessagesUnsubscribeParams,
) => {
  const { sessionKey: key } = keyIn(request, params);
  request.context.watch.unfollow(request.connection, key);
  return { subscribed: false, key };
};

const keyIn = (
  { context }: Request<SessionWorkContext>,
  { key, agentId }: SessionsMessagesUnsubscribeParams,
): { readonly sessionKey: string; readonly agentId: string } =>
  sessionNamed(context, { sessionKey: key, ...defined({ agentId }) });

/**
 * Pending approvals of the session, in the form of `session.approval` events. Empty for clients
 * that may not decide approvals.
 */
const approvalReplay = (
  { context, connection }: Request<SessionWorkContext>,
  sessionKey: string,
  agentId: string,
) => ({
  sessionKey,
  updatedAtMs: context.clock.wallMs(),
  approvals: (mayDecide(connection) ? context.approvals.list() : [])
    .filter(({ request }) => request.sessionKey === sessionKey)
    .map(({ id, createdAtMs, expiresAtMs, request }) => ({
      id,
      urlPath: `/approvals/${encodeURIComponent(id)}`,
      createdAtMs,
      expiresAtMs,
      presentation: {
        kind: 'exec',
        commandText: request.command,
        commandPreview: null,
        warningText: null,
        host: null,
        nodeId: null,
        agentId,
        allowedDecisions: request.allowedDecisions,
      },
      status: 'pending',
    })),
  truncated: false,
});

export const sessionWorkTable: MethodTable<SessionWorkContext> = [
  published('sessions.create', sessionsCreate),
  published('sessions.send', sendTo()),
  published('sessions.steer', sendTo('interrupt')),
  published('sessions.abort', sessionsAbort),
  published('sessions.subscribe', subscribe),
  published('sessions.unsubscribe', unsubscribe),
  published('sessions.messages.subscribe', messagesSubscribe),
  published('sessions.messages.unsubscribe', messagesUnsubscribe),
  ...absentTable,
];
