/**
 * `sessions_send`: sends a message to another session and, unless requested otherwise, waits for
 * the answer. The caller's session checks limits and accounts for the message. This tool finds the
 * target, checks the policy and formats the answer for the model.
 *
 * Invariants:
 *  1. The status claims no more than what is known: a message is reported as delivered only after
 *     its delivery is confirmed.
 *  2. A message can create only an agent's main session; other sessions must exist.
 */
import { type Static, Type } from '@sinclair/typebox';
import { address } from '../../../protocols/address.ts';
import {
  type ConversationResult,
  CONVERSATIONS_PER_RUN_MAX,
  type SessionConverse,
} from '../../../protocols/conversation.ts';
import { defined } from '../../../protocols/defined.ts';
import { parseSessionKey, sessionKind } from '../../../protocols/session-key.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import { type SubagentRow, SUBAGENTS_INDEX, subagentRowKey } from '../../../protocols/subagent.ts';
import { judge, type TalkRules } from '../../policy/talk.ts';
import { isKnownAgent } from '../../known-agent.ts';
import { answerOf, idOfCall, said, talkerOf } from './repeatable-ask.ts';
import { QuotedContext, TEXT_CHARACTERS_MAX, withContext } from './quoted-context.ts';
import { findSession } from './session-lookup.ts';
import { defineTool, type ToolContext, type ToolResult } from '../tool.ts';

const SECONDS_DEFAULT = 30;
const SECONDS_MAX = 3_600;
/** Longer than the longest wait, because the target's session may answer late. */
const TIMEOUT_MS = (SECONDS_MAX + 120) * 1_000;

const Parameters = Type.Object(
  {
    sessionKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description:
          'agent:<id>:main for the main session of an agent; or a key from sessions_list',
      }),
    ),
    label: Type.Optional(
      Type.String({ minLength: 1, maxLength: 120, description: 'instead of sessionKey' }),
    ),
    agentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'with label: the agent of the session',
      }),
    ),
    message: Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX }),
    timeoutSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: SECONDS_MAX,
        description: `how long to wait for the answer; default ${SECONDS_DEFAULT}, 0: do not wait`,
      }),
    ),
    waitForResponse: Type.Optional(Type.Boolean({ description: 'false: timeoutSeconds 0' })),
    timeout: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: SECONDS_MAX * 1_000,
        description: 'timeoutSeconds in milliseconds',
      }),
    ),
    priority: Type.Optional(
      Type.Union([Type.Literal('low'), Type.Literal('normal'), Type.Literal('high')]),
    ),
    context: Type.Optional(QuotedContext),
  },
  { additionalProperties: false },
);
type Arguments = Static<typeof Parameters>;

export const sessionsSendTool = defineTool({
  name: 'sessions_send',
  groups: ['sessions'],
  description:
    'Says something to the agent of another session and gives you its answer. Give sessionKey or label. Status ok: `reply` is the answer; timeout: it has your message and still works on it, do not send it again; accepted: it is on its way and you do not wait.',
  parameters: Parameters,
  class: 'keyed',
  parallel: true,
  timeoutMs: TIMEOUT_MS,
  async run(args, context) {
    const found = await targetOf(args, context);
    return 'refusal' in found ? found.refusal : converse(found.target, args, context);
  },
});

type Target = { readonly target: string } | { readonly refusal: ToolResult };

const refusal = (value: { status: string; error: string; [more: string]: unknown }): Target => ({
  refusal: said({ ...value, delivered: false }, true),
});

async function targetOf(args: Arguments, context: ToolContext): Promise<Target> {
  const { sessionKey, label, agentId } = args;
  if ((sessionKey === undefined) === (label === undefined))
    return refusal({ status: 'invalid', error: 'pass either sessionKey or label' });
  if (sessionKey !== undefined) return byKey(sessionKey, context);
  const name = { label: label!, ...defined({ agentId }) };
  const index = await context.system.index();
  const found = await findSession(index, context.tenant, name, talkerOf(context), context.talk);
  if (found.status !== 'found') return refusal(found);
  return allowed(found.row.sessionKey, found.row.agentId, found.row, context);
}

async function byKey(sessionKey: string, context: ToolContext): Promise<Target> {
  const { system, tenant, talk } = context;
  const index = await system.index();
  const row = index.get<SessionRow>('sessions', tenant, sessionKey);
  const parts = parseSessionKey(sessionKey);
  const agentId = row?.agentId ?? ('agentId' in parts ? parts.agentId : undefined);
  if (agentId === undefined) return unknown(sessionKey, talk);
  if (!row && parts.type === 'subagent') {
    const own = subagentRowKey(context.sessionKey, parts.id);
    const begins = index.get<SubagentRow>(SUBAGENTS_INDEX, tenant, own);
    if (begins) return notYet(sessionKey, begins);
  }
  const target = allowed(sessionKey, agentId, row, context);
  if ('refusal' in target || row) return target;
  const isMain = sessionKind(parts, talk.mainKey) === 'main';
  return isMain && isKnownAgent(index, agentId, context) ? target : unknown(sessionKey, talk);
}

const unknown = (sessionKey: string, { mainKey }: TalkRules): Target => {
  const error = `there is no such session: sessions_list shows those that you can reach, and agent:<id>:${mainKey} reaches a configured agent`;
  return refusal({ status: 'not_found', sessionKey, error });
};

/** The caller's own subagent whose session has not started or was deleted. */
const notYet = (sessionKey: string, { status }: SubagentRow): Target => {
  const error = `this subagent of yours has no session now (${status}): its result arrives without a request, and the tool subagents shows it`;
  return refusal({ status: 'not_found', sessionKey, error });
};

/** The policy check; the session performs the checks that depend on its state. */
function allowed(
  sessionKey: string,
  agentId: string,
  row: SessionRow | undefined,
  context: ToolContext,
): Target {
  const spawnedBy = row?.spawnedBy === undefined ? {} : { spawnedBy: row.spawnedBy };
  const what = { agentId, sessionKey, ...spawnedBy };
  const verdict = judge(context.talk, talkerOf(context), what, 'send');
  if (verdict.allowed) return { target: sessionKey };
  const { rule, why } = verdict;
  return refusal({ status: 'forbidden', sessionKey, rule, error: `${why} (${rule})` });
}

/** A request without waiting overrides any timeout. */
const waitMsOf = ({ timeoutSeconds, timeout, waitForResponse }: Arguments): number => {
  if (waitForResponse === false) return 0;
  if (timeoutSeconds !== undefined) return Math.round(timeoutSeconds * 1_000);
  return timeout === undefined ? SECONDS_DEFAULT * 1_000 : Math.round(timeout);
};

async function converse(
  target: string,
  args: Arguments,
  context: ToolContext,
): Promise<ToolResult> {
  const { tenant, sessionKey, runId, callId, talk } = context;
  const event: SessionConverse = {
    type: 'session.converse',
    id: idOfCall(context),
    runId,
    callId,
    target,
    text: withContext(args.message, args.context),
    priority: args.priority ?? 'normal',
    waitMs: waitMsOf(args),
    turns: talk.turns,
    limits: talk.lineage,
  };
  const answer = await answerOf(context, address(tenant, 'session', sessionKey), event);
  if (answer.kind === 'answered') return shown(answer.result as ConversationResult);
  const { code, message } = answer.error;
  const failed = { status: 'error', sessionKey: target, delivered: false, code, error: message };
  return said(failed, true);
}

/** Advice for the model about refusals that only its own session makes. */
const REFUSALS: Readonly<Record<string, string>> = {
  loop: 'that session caused this run, or is this session: it receives your reply, so answer in your reply',
  hops: 'this run is too many messages and spawns away from a user message (session.agentToAgent.maxHops): answer with the information that you have',
  messages:
    'all messages that may follow one user message are used (session.agentToAgent.maxMessages): answer with the information that you have',
  conversations: `a run may start at most ${CONVERSATIONS_PER_RUN_MAX} conversations: answer with the information that you have`,
  'run-ended': 'the run that asked has ended',
};

/** `response` is an alias of `reply`. */
function shown({ conversationId, error, ...result }: ConversationResult): ToolResult {
  const { reply, status, reason } = result;
  const why = status === 'refused' && reason !== undefined ? REFUSALS[reason] : undefined;
  const value = {
    ...result,
    ...defined({ response: reply, error: why }),
    ...(error ? { code: error.code, error: error.message } : {}),
    conversationId,
  };
  return said(value, status === 'refused' || status === 'error');
}
