/**
 * Batch: the tool calls of one model answer, in order: which calls run next and in parallel, which
 * are refused, approvals, and results. Pure.
 *
 * Invariant: every call gets one result, in the order of the calls, unless the run ends before.
 */
import type { AgentAllow } from '../../../protocols/agent.ts';
import {
  type ApprovalAsk,
  type ApprovalDecision,
  type ApprovalOption,
  approvalAddress,
  TITLE_CHARACTERS_MAX,
} from '../../../protocols/approval.ts';
import { NO_USAGE, sum } from '../../../protocols/models/model-usage.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { Tell } from '../../../protocols/statechart.ts';
import { destinationOf, sentMessages } from '../conversations/end-notices.ts';
import { recorded } from '../subagents/children.ts';
import {
  type ActionArgs,
  type ActionResult,
  type ArgsOf,
  defined,
  errorOf,
  metaOf,
  nowOf,
  on,
  outputOf,
  runOf,
  type RunEventBody,
  withRun,
} from '../action-result.ts';
import { firstOf } from '../../kit/text.ts';
import { withoutNoReply } from './reply.ts';
import {
  countRepeats,
  countRefusals,
  digestOf,
  identicalText,
  isIdentical,
  timeLimitOf,
} from './limits.ts';
import * as rows from '../rows.ts';
import { admitterOf, grantedToolsOf, workspaceOf } from '../subagents/subagent-limits.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type { CallToolsInput, Run, SessionContext, ToolResult, ToolSummary } from '../types.ts';

/** Calls of one answer that run; the model reads that the others did not. */
const CALLS_PER_ANSWER_MAX = 32;
/** Tool summaries that a run keeps for its reply. */
const SUMMARIES_MAX = 50;
/** Characters of sent messages that a run keeps to compare its reply with; the newest stay. */
const SENT_CHARACTERS_MAX = 65_536;
const ABOUT_CHARACTERS = 80;
const RESULT_CHARACTERS = 200;
const PREVIEW_CHARACTERS = 120;

/** The calls of an answer that will run, and refusals of those above the maximum. */
export const takenOf = (
  plan: readonly PlannedCall[],
): { readonly planned: readonly PlannedCall[]; readonly over: readonly ToolResult[] } => ({
  planned: plan.slice(0, CALLS_PER_ANSWER_MAX),
  over: plan.slice(CALLS_PER_ANSWER_MAX).map(({ id: callId, name, refused }) => {
    const result = refused ?? `Not run: an answer may have at most ${CALLS_PER_ANSWER_MAX} calls.`;
    return { callId, name, result, isError: true };
  }),
});

const headOf = (context: SessionContext): PlannedCall | undefined => runOf(context).planned[0];

// ---- selection

/** The calls that run now: the first, and the following ones that may run in parallel. */
export function batchOf(context: SessionContext): readonly PlannedCall[] {
  const { planned } = runOf(context);
  const [first] = planned;
  if (!first?.parallel || first.class === 'once') return planned.slice(0, 1);
  const fits = (call: PlannedCall) =>
    call.parallel && call.class === first.class && !call.question && call.refused === undefined;
  const end = planned.findIndex((call, n) => n > 0 && !fits(call));
  return end < 0 ? planned : planned.slice(0, end);
}

export const hasCalls = ({ context }: ActionArgs): boolean => headOf(context) !== undefined;

export const isRefusedCall = ({ context }: ActionArgs): boolean => {
  const call = headOf(context);
  return call !== undefined && (call.refused !== undefined || isIdentical(context, call));
};
export const needsApproval = ({ context }: ActionArgs): boolean =>
  headOf(context)?.question !== undefined;
export const isOnce = ({ context }: ActionArgs): boolean => headOf(context)?.class === 'once';
export const isKeyed = ({ context }: ActionArgs): boolean => headOf(context)?.class === 'keyed';

export const toolsInput = ({ context }: { context: SessionContext }): CallToolsInput => ({
  sessionKey: context.sessionKey,
  tenant: context.tenant,
  agentId: context.agentId,
  runId: runOf(context).runId,
  calls: batchOf(context),
  ...defined({
    workspace: workspaceOf(context),
    given: grantedToolsOf(context),
    chat: destinationOf(context),
  }),
});

// ---- results

/** Records the results of the first planned calls and removes these calls from the plan. */
function finish(at: ActionArgs, results: readonly ToolResult[]): ActionResult & { change: object } {
  const { event } = at;
  const bonds = recorded(at.context, results);
  const context = { ...at.context, ...bonds.change };
  const run = runOf(context);
  const calls = run.planned.slice(0, results.length);
  const now = nowOf(event);
  const { entries, said } = entriesOf(context, results, now);
  const usage = results.flatMap((result) => result.usage ?? []).reduce(sum, NO_USAGE);
  const change = {
    ...bonds.change,
    usage: sum(context.usage, usage),
    length: context.length + entries.length,
    updatedAt: now,
    ...(said.length > 0 ? { lastMessage: firstOf(said.at(-1)!.text, PREVIEW_CHARACTERS) } : {}),
    ...withRun(context, {
      usage: sum(run.usage, usage),
      entries: run.entries + entries.length,
      planned: run.planned.slice(results.length),
      repeats: countRepeats(run.repeats, calls, results),
      tools: [...run.tools, ...summaries(calls, results)].slice(-SUMMARIES_MAX),
      ...(said.length > 0 ? sentOf(run, context.sessionKey, said) : {}),
    }),
  };
  return {
    change,
    entries,
    events: said.map(({ of: id, text, files }) => ({
      stream: 'message',
      id,
      text,
      ...defined({ files }),
    })),
    tells: [...bonds.tells, ...sentMessages(context, said)],
    rows: [rows.sessionRow({ ...context, ...change })],
  };
}

type Said = Extract<SessionEntry, { type: 'assistant' }> & { readonly of: string };

/**
 * The results, each followed by the messages that its tool sent into this conversation. The id of a
 * message is its transcript position, because providers reuse the ids of calls.
 */
function entriesOf(context: SessionContext, results: readonly ToolResult[], now: number) {
  const { runId, usedModel: model = '' } = runOf(context);
  const entries: SessionEntry[] = [];
  const said: Said[] = [];
  for (const { usage: _, ...result } of results) {
    entries.push({ type: 'tool', runId, ...result, at: now });
    for (const { to, text: whole, files } of result.sent ?? []) {
      const text = to === context.sessionKey ? withoutNoReply(whole) : '';
      if (text === '' && files === undefined) continue;
      const of = `${runId}:message:${context.length + entries.length + 1}`;
      const message = {
        type: 'assistant',
        runId,
        of,
        text,
        ...defined({ files }),
        model,
        stop: 'message',
        at: now,
      } as const;
      entries.push(message);
      said.push(message);
    }
  }
  return { entries, said };
}

function sentOf(run: Run, to: string, said: readonly Said[]): Pick<Run, 'sent' | 'messages'> {
  const sent = [...run.sent, ...said.map(({ text }) => ({ to, text }))];
  let characters = 0;
  const from = sent.findLastIndex(({ text }) => (characters += text.length) > SENT_CHARACTERS_MAX);
  return { sent: sent.slice(from + 1), messages: (run.messages ?? 0) + said.length };
}

const summaries = (
  calls: readonly PlannedCall[],
  results: readonly ToolResult[],
): readonly ToolSummary[] =>
  results.map(({ name, isError, result }, n) => ({
    name,
    about: firstOf(JSON.stringify(calls[n]?.args) ?? '', ABOUT_CHARACTERS),
    isError,
    result: firstOf(result, RESULT_CHARACTERS),
  }));

/** The tools of the batch have returned. */
export const onResults = (at: ActionArgs): ActionResult =>
  finish(at, outputOf<readonly ToolResult[]>(at.event));

/** The effect of the batch failed: the model receives the reason and continues. */
export const onFailure = (at: ActionArgs): ActionResult => {
  const { code, message } = errorOf(at.event);
  const result = `The call failed: ${code}: ${message}`;
  // the effect has published their start
  return failCalls(at, batchOf(at.context), result, (_, results) => results.map(endOf));
};

/** Records an error as the result of these calls, and publishes them. */
function failCalls(
  at: ActionArgs,
  calls: readonly PlannedCall[],
  result: string,
  publish = eventsOfRefused,
): ActionResult & { change: object } {
  const results = calls.map(({ id, name }) => ({ callId: id, name, result, isError: true }));
  return { ...finish(at, results), events: publish(calls, results) };
}

const endOf = (result: ToolResult): RunEventBody => ({ stream: 'tool', phase: 'end', ...result });

/**
 * Calls that never run are published from start to end, too: clients show a call from its start.
 */
export function eventsOfRefused(
  calls: readonly PlannedCall[],
  results: readonly ToolResult[],
): readonly RunEventBody[] {
  return results.flatMap((result, n): readonly RunEventBody[] => {
    const { callId, name } = result;
    return [{ stream: 'tool', phase: 'start', callId, name, args: calls[n]?.args }, endOf(result)];
  });
}

/** The first call is refused or was repeated too often: its result explains why. */
export function refuseCall(at: ActionArgs): ActionResult {
  const { context } = at;
  const call = headOf(context)!;
  if (call.refused !== undefined) return failCalls(at, [call], call.refused);
  const { repeats } = runOf(context);
  const result = failCalls(at, [call], identicalText(context, call));
  const counted = withRun({ ...context, ...result.change }, { repeats: countRefusals(repeats) });
  return { ...result, change: { ...result.change, ...counted } };
}

/** A message steers the run: tool calls that have not started are skipped. */
export const skip = (at: ActionArgs): ActionResult =>
  failCalls(at, runOf(at.context).planned, 'Skipped: a new message arrived');

// ---- approvals

const OPTIONS: readonly ApprovalOption[] = [
  { name: 'allow-once', means: 'allowed' },
  { name: 'allow-always', means: 'allowed' },
  { name: 'deny', means: 'denied' },
];

const safe = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 48);

/**
 * The id of an approval: a readable beginning, and a digest that differs for every run, model call
 * and tool call, whatever ids clients and providers choose.
 */
function approvalId(context: SessionContext): string {
  const { runId, calls } = runOf(context);
  const { id } = headOf(context)!;
  const unique = digestOf(context.sessionKey, runId, String(calls), id);
  return `${safe(runId)}.${safe(id)}.${unique}`;
}

/**
 * The run withdraws its question when it ends: no later time may be promised. A limit that is over
 * is not the run's: its timer does not count the time in which the machine was suspended.
 */
const remainingMs = (context: SessionContext, now: number): number => {
  const left = timeLimitOf(context) - now;
  return left > 0 ? left : Infinity;
};

export function ask({ context, event: cause }: ActionArgs): ActionResult {
  const { id: callId, name, question } = headOf(context)!;
  const { command, detail, pattern } = question!;
  const forMs = Math.min(question!.forMs, remainingMs(context, nowOf(cause)));
  const id = approvalId(context);
  const title = firstOf(`${context.agentId} wants to run: ${command}`, TITLE_CHARACTERS_MAX);
  const event: ApprovalAsk = {
    type: 'approval.ask',
    title,
    detail: firstOf(`${detail}\n\nsession ${context.sessionKey}`.trim(), 8_192),
    options: OPTIONS.filter(({ name: option }) => pattern !== '' || option !== 'allow-always'),
    forMs,
  };
  return {
    change: withRun(context, { asked: id }),
    tells: [{ to: approvalAddress(context.tenant, id), event, ask: true }],
    events: [{ stream: 'tool', phase: 'approval', callId, name, approvalId: id }],
  };
}

/** Closes the pending approval, because the run no longer waits for its decision. */
export function withdrawal(context: SessionContext, why = 'the run that asked has ended'): Tell[] {
  const { asked } = runOf(context);
  if (asked === undefined) return [];
  return [
    { to: approvalAddress(context.tenant, asked), event: { type: 'approval.withdraw', why } },
  ];
}

/**
 * A user sent a message: the model receives it first, and repeats the call if it is still needed.
 */
export function withdrawQuestion({ context }: ActionArgs): ActionResult {
  const { asked: _, ...run } = runOf(context);
  return { change: { run }, tells: withdrawal(context, 'a new message arrived') };
}

type Answer = ArgsOf<'reply'>['event'];

const decisionOf = ({ result }: Answer): ApprovalDecision | undefined =>
  result as ApprovalDecision | undefined;

export const isFromAsked = on('reply', ({ context, event }): boolean => {
  const { asked } = runOf(context);
  return asked !== undefined && metaOf(event).from === approvalAddress(context.tenant, asked);
});
export const isAllowed = on(
  'reply',
  (at): boolean => isFromAsked(at) && decisionOf(at.event)?.state === 'allowed',
);

/** The first call may run; after `allow-always` it needs no further approval. */
export const allow = on('reply', ({ context, event }): ActionResult => {
  const { asked: _, ...run } = runOf(context);
  const [head, ...others] = run.planned;
  const { question, ...call } = head!;
  const { decision, decided_by: by = '' } = decisionOf(event)!;
  const always: AgentAllow = { type: 'agent.allow', pattern: question!.pattern, by };
  return {
    change: { run: { ...run, planned: [call, ...others] } },
    tells: decision === 'allow-always' ? [{ to: admitterOf(context), event: always }] : [],
  };
});

/** The call was not approved: the model reads who denied it and why. */
export const deny = on('reply', (at): ActionResult => {
  const result = failCalls(at, [headOf(at.context)!], denialOf(at.event));
  const { asked: _, ...run } = runOf({ ...at.context, ...result.change });
  return { ...result, change: { ...result.change, run } };
});

function denialOf({ result, error }: Answer): string {
  if (error) return `Not run: no approval could be requested: ${error.message}`;
  const { state, decided_by: by, why } = result as ApprovalDecision;
  if (state === 'expired') return 'Not run: no operator decided in time.';
  return `Not run: ${by ?? 'an operator'} denied it${why ? `: ${why}` : ''}. Do not try it in another way.`;
}
