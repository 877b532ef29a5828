/**
 * `sessions_spawn`: starts a subagent for a task. This tool derives limits that the configuration
 * allows from the model's request. The caller's session decides whether a slot and a grant are
 * available.
 *
 * Invariants:
 *  1. No limit exceeds the configuration or the caller's own limits: numbers are the minimum, tools
 *     the intersection. The answer lists the removed tools.
 *  2. The parent is the session of the call, whatever a model writes.
 */
import { type Static, Type } from '@sinclair/typebox';
import { address } from '../../../protocols/address.ts';
import type { AgentRow } from '../../../protocols/agent.ts';
import { defined } from '../../../protocols/defined.ts';
import { errorData } from '../../../protocols/errors.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { SandboxPolicy } from '../../../protocols/sandbox/sandbox-policy.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { SessionSpawn, SpawnResult, SpawnTerms } from '../../../protocols/subagent.ts';
import type { Index } from '../../../runtime/index.ts';
import { type CutTool, subagentListPlaces, subagentTools } from '../../policy/subagent-tools.ts';
import { judge, spawnRulesFor } from '../../policy/talk.ts';
import { isKnownAgent } from '../../known-agent.ts';
import { answerOf, idOfCall, said, talkerOf } from './repeatable-ask.ts';
import { QuotedContext, TEXT_CHARACTERS_MAX, withContext } from './quoted-context.ts';
import { defineTool, type ToolContext, type ToolResult } from '../tool.ts';

/** A waiting call ends with its run; this value adds no limit. */
const TIMEOUT_MS = 24 * 3_600_000;
/** Maximum length of a chain of agents created for tasks, in addition to the depth limit. */
const ANCESTORS_MAX = 64;
const AD_HOC_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const agentFields = {
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  thinking: Type.Optional(Type.String({ minLength: 1, maxLength: 20 })),
  purpose: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2_000, description: 'its purpose, in one sentence' }),
  ),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 64,
      description: 'tool names or groups; default the tools of subagents in this installation',
    }),
  ),
  maxTurns: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  maxTokens: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 1_000_000_000 })),
  timeout: Type.Optional(
    Type.Integer({ minimum: 1_000, maximum: 86_400_000, description: 'milliseconds' }),
  ),
};

const Parameters = Type.Object(
  {
    task: Type.String({
      minLength: 1,
      maxLength: TEXT_CHARACTERS_MAX,
      description: 'everything that it has to know: it sees nothing of this conversation',
    }),
    label: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    agentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'the agent that does the task; default you',
      }),
    ),
    agentConfig: Type.Optional(
      Type.Object(
        { id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })), ...agentFields },
        {
          additionalProperties: false,
          description:
            'the agent that does the task; its fields may also be top-level: agentId, model, …',
        },
      ),
    ),
    ...agentFields,
    timeoutSeconds: Type.Optional(Type.Number({ minimum: 1, maximum: 86_400 })),
    context: Type.Optional(QuotedContext),
    isolated: Type.Optional(
      Type.Boolean({
        description: 'default true: its own empty workspace; false: it works on your files',
      }),
    ),
    reportBack: Type.Optional(
      Type.Boolean({ description: 'default true: you receive its result as a message' }),
    ),
    wait: Type.Optional(
      Type.Boolean({ description: 'true: this call returns its result; default false' }),
    ),
    parentSession: Type.Optional(
      Type.String({ maxLength: 512, description: 'omit it: the parent is this session' }),
    ),
  },
  { additionalProperties: false },
);
type Arguments = Static<typeof Parameters>;
type RequestedAgent = NonNullable<Arguments['agentConfig']>;

export const sessionsSpawnTool = defineTool({
  name: 'sessions_spawn',
  groups: ['sessions'],
  description:
    'Gives a task to a subagent that works on its own beside you. Answers at once (accepted); the result comes to you as a message when it is done: do not poll for it. Several calls in one answer work side by side. `cut` names tools that it was not given.',
  parameters: Parameters,
  class: 'keyed',
  parallel: true,
  timeoutMs: TIMEOUT_MS,
  async run(args, context) {
    const requested = requestedAgentOf(args);
    if (typeof requested === 'string') return said({ status: 'invalid', error: requested }, true);
    const agentId = requested.id ?? context.agentId;
    const index = await context.system.index();
    const isKnown = isKnownAgent(index, agentId, context);
    if (!isKnown && !AD_HOC_ID.test(agentId)) return said(badId(agentId), true);
    const verdict = judge(context.talk, talkerOf(context), { agentId }, 'spawn');
    if (!verdict.allowed) {
      const { rule, why } = verdict;
      return said({ status: 'forbidden', rule, error: `${why} (${rule})` }, true);
    }
    const problem = modelProblem(
      requested,
      index.get<AgentRow>('agents', context.tenant, agentId),
      context,
    );
    if (problem !== undefined) return said({ status: 'invalid', error: problem }, true);
    const admitBy = isKnown ? agentId : admitterOf(index, context);
    const { terms, cut } = termsOf(requested, agentId, admitBy, args, context);
    return spawn(args, terms, cut, context);
  },
});

const badId = (agentId: string) => ({
  status: 'not_found',
  error: `there is no agent ${JSON.stringify(agentId)}; a new id has lower case letters, digits, - and _, at most 63`,
});

/** The requested agent, from both forms of arguments; a string explains what is wrong. */
function requestedAgentOf(args: Arguments): RequestedAgent | string {
  const { agentConfig = {}, agentId, timeoutSeconds, parentSession } = args;
  const { model, thinking, purpose, tools, maxTurns, maxTokens, timeout } = args;
  if (agentId !== undefined && agentConfig.id !== undefined && agentId !== agentConfig.id)
    return `agentId is ${agentId} and agentConfig.id is ${agentConfig.id}: pass only one of them`;
  if (parentSession?.startsWith('agent:') === false)
    return 'omit parentSession: the parent is this session';
  const flat = {
    id: agentId,
    model,
    thinking,
    purpose,
    tools,
    maxTurns,
    maxTokens,
    timeout: timeoutSeconds === undefined ? timeout : Math.round(timeoutSeconds * 1_000),
  };
  const given = Object.entries(flat).filter(([, value]) => value !== undefined);
  return { ...agentConfig, ...Object.fromEntries(given) };
}

/** What is wrong with the requested model or thinking level. */
function modelProblem(
  { model, thinking }: RequestedAgent,
  agent: AgentRow | undefined,
  { models }: ToolContext,
): string | undefined {
  const name = model ?? agent?.model ?? '';
  try {
    if (model !== undefined) models.resolve(model);
  } catch (error) {
    return `model: ${errorData(error).message}`;
  }
  const levels = models.thinkingLevels(name);
  if (thinking === undefined || levels.some((level) => level === thinking)) return undefined;
  const level = JSON.stringify(thinking);
  return `thinking: ${name || 'a model'} has no level ${level}; allowed: ${levels.join(', ')}`;
}

/**
 * For an agent that is not configured: the configured agent whose settings its parent's runs use.
 */
function admitterOf(index: Index, context: ToolContext): string {
  let { agentId, sessionKey } = context;
  for (let level = 0; level < ANCESTORS_MAX; level++) {
    if (isKnownAgent(index, agentId, context)) return agentId;
    const row = index.get<SessionRow>('sessions', context.tenant, sessionKey);
    if (row?.spawnedBy === undefined) return agentId;
    sessionKey = row.spawnedBy;
    const parts = parseSessionKey(sessionKey);
    if ('agentId' in parts) agentId = parts.agentId;
  }
  return agentId;
}

type Terms = { readonly terms: SpawnTerms; readonly cut: readonly CutTool[] };

function termsOf(
  requested: RequestedAgent,
  agentId: string,
  admitBy: string,
  { isolated = true }: Arguments,
  { talk, installed, given, confinement }: ToolContext,
): Terms {
  const rules = spawnRulesFor(talk, agentId);
  const places = subagentListPlaces(talk, agentId);
  const { allow, deny, cut } = subagentTools(
    requested.tools,
    rules.sandbox,
    places,
    installed,
    given,
  );
  const { model, thinking, purpose } = requested;
  const terms: SpawnTerms = {
    agentId,
    admitBy,
    ...defined({ model, thinking, purpose }),
    sandbox: { ...confined(rules.sandbox, isolated, confinement), allow, deny },
    turnsMax: Math.min(requested.maxTurns ?? Infinity, rules.turnsMax),
    timeoutMs: Math.min(requested.timeout ?? Infinity, rules.timeoutMs),
    tokens: Math.min(requested.maxTokens ?? Infinity, rules.tokens),
    ...(rules.costUsd > 0 ? { costUsd: rules.costUsd } : {}),
    isolated,
    keepMs: rules.keepMs,
  };
  return { terms, cut };
}

/** A sandboxed session cannot start a subagent on the host or one with more access to its files. */
function confined(
  sandbox: SandboxPolicy,
  isolated: boolean,
  { sandboxed, workspaceAccess: own }: ToolContext['confinement'],
): SandboxPolicy {
  if (!sandboxed) return sandbox;
  const { workspaceAccess } = sandbox;
  const narrower = ACCESS.indexOf(own) < ACCESS.indexOf(workspaceAccess) ? own : workspaceAccess;
  return {
    ...sandbox,
    mode: 'always',
    workspaceAccess: isolated ? workspaceAccess : narrower,
  };
}
/** From the least access to the most. */
const ACCESS: readonly SandboxPolicy['workspaceAccess'][] = ['none', 'ro', 'rw'];

async function spawn(
  { task, label, context: quoted, wait = false, reportBack = true }: Arguments,
  terms: SpawnTerms,
  cut: readonly CutTool[],
  context: ToolContext,
): Promise<ToolResult> {
  const { tenant, sessionKey, runId, callId, talk } = context;
  const event: SessionSpawn = {
    type: 'session.spawn',
    id: idOfCall(context),
    runId,
    callId,
    task: withContext(task, quoted),
    ...defined({ label }),
    terms,
    limits: talk.spawn.limits,
    wait,
    reportBack,
  };
  const answer = await answerOf(context, address(tenant, 'session', sessionKey), event);
  if (answer.kind === 'refused') {
    const { code, message } = answer.error;
    return said({ status: 'error', code, error: message }, true);
  }
  const result = answer.result as SpawnResult;
  const isDone = result.status === 'accepted' || result.status === 'completed';
  const answered = said(cut.length > 0 && isDone ? { ...result, cut } : result, !isDone);
  return 'result' in result ? { ...answered, ends: [event.id] } : answered;
}
