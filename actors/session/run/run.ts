/**
 * Run: one run from its first model call to its end: inputs of the model and the hooks, and what
 * their outcomes change. Pure; the chart decides when.
 */
import { ERRORS, type ErrorData } from '../../../protocols/errors.ts';
import type { RunStatus, SessionEntry } from '../../../protocols/session.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { ActorInput, Tell } from '../../../protocols/statechart.ts';
import { eventsOfRefused, takenOf, withdrawal } from './batch.ts';
import {
  type ActionArgs,
  type ActionResult,
  callFailureOf,
  defined,
  errorOf,
  nowOf,
  outputOf,
  runOf,
  withRun,
} from '../action-result.ts';
import { firstOf } from '../../kit/text.ts';
import { NO_USAGE, sum } from '../../../protocols/models/model-usage.ts';
import { atRunEnd, endIfInactive } from '../subagents/children.ts';
import { destinationOf, endEvents, runEnds } from '../conversations/end-notices.ts';
import { ceilingOf, repeatingError, runTimeoutMs } from './limits.ts';
import { planOf } from '../version-1.ts';
import { shapeReply, withoutNoReply, withoutSent } from './reply.ts';
import * as rows from '../rows.ts';
import { admitterOf } from '../subagents/subagent-limits.ts';
import { modelOf, promptWanted } from './prompt.ts';
import type {
  CallModelInput,
  CallModelOutput,
  ReplyInput,
  ReplyOutput,
  Run,
  SessionContext,
} from '../types.ts';

const RETRY_MS = { first: 1_000, max: 30_000 };
const PREVIEW_CHARACTERS = 120;
/** Attempts of one model call. */
export const ATTEMPTS_MAX = 5;

export function initialContext({ self, tenant, key, now }: ActorInput): SessionContext {
  return {
    self,
    tenant,
    sessionKey: key,
    agentId: agentOf(key),
    sessionId: '',
    createdAt: now,
    updatedAt: now,
    length: 0,
    contextFrom: 1,
    digest: null,
    isFresh: true,
    settings: null,
    own: {},
    queue: [],
    folded: [],
    run: null,
    compaction: null,
    reset: null,
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

// ---- the model

export function modelInput({ context }: { context: SessionContext }): CallModelInput {
  const { sessionKey, tenant, agentId, contextFrom, own, settings } = context;
  const run = runOf(context);
  const { runId, entries, calls, compactions, prepend, thinking, attempt, isAssembled } = run;
  return {
    sessionKey,
    tenant,
    agentId,
    runId,
    from: contextFrom,
    entries,
    isCompacted: compactions > 0,
    call: calls,
    settings: settings!,
    ...(isAssembled ? {} : { assemble: promptWanted(context) }),
    ...(attempt > 0 ? { isRepeat: true } : {}),
    ...defined({
      model: modelOf(context),
      thinking: thinking ?? own.thinking ?? settings?.thinking,
      prepend,
    }),
  };
}

/** Records that hooks may have run, whether or not the call succeeds. */
export const beginCall = ({ context }: ActionArgs): ActionResult =>
  runOf(context).isAssembled ? {} : { change: withRun(context, { hasCalled: true }) };

export const callFailed = ({ event }: ActionArgs): boolean => callFailureOf(event) !== undefined;

export const wantsTools = ({ event }: ActionArgs): boolean =>
  planOf(outputOf<CallModelOutput>(event)).length > 0;

/** The model has answered: its text is appended to the conversation in this turn. */
export function onModelAnswer({ context, event }: ActionArgs): ActionResult {
  const output = outputOf<CallModelOutput>(event);
  const run = runOf(context);
  const now = nowOf(event);
  const isLast = planOf(output).length === 0;
  const { planned, over } = takenOf(planOf(output));
  const change = {
    length: context.length + 1 + over.length,
    updatedAt: now,
    contextFrom: output.from ?? context.contextFrom,
    usage: sum(context.usage, output.usage),
    contextTokens: output.usage.inputTokens,
    usedModel: output.model,
    lastMessage: firstOf(output.text || context.lastMessage, PREVIEW_CHARACTERS),
    run: {
      ...run,
      entries: run.entries + 1 + over.length,
      calls: run.calls + 1,
      attempt: 0,
      usage: sum(run.usage, output.usage),
      planned,
      answer: output.text,
      usedModel: output.model,
      stop: output.stop,
      ...defined({ notices: output.notices }),
      ...(showsReasoning(context) ? defined({ reasoningText: output.reasoning }) : {}),
    },
  };
  return {
    change,
    entries: [
      { ...assistantEntry(run, output, now), ...shownOf(run, output, context.sessionKey) },
      ...over.map((one) => ({ type: 'tool' as const, runId: run.runId, ...one, at: now })),
    ],
    events: eventsOfRefused(planOf(output).slice(planned.length), over),
    // the end of a run, which follows in the same turn unless hooks see the reply, has the row
    rows: isLast && !run.replyHooks ? [] : [rows.sessionRow({ ...context, ...change })],
  };
}

function assistantEntry({ runId }: Run, output: CallModelOutput, now: number): SessionEntry {
  const { text, model, usage, stop, calls } = output;
  return {
    type: 'assistant',
    runId,
    text,
    model,
    usage,
    stop,
    at: now,
    ...(calls.length > 0 ? { calls } : {}),
    ...defined({
      reasoning: output.reasoning,
      continuation: output.continuation,
      node: output.node,
    }),
  };
}

/** The answer without the messages that the run already sent. */
function shownOf({ sent: all }: Run, { text, calls }: CallModelOutput, to: string) {
  const sent = all.filter((one) => one.to === to);
  if (calls.length > 0 || sent.length === 0) return {};
  const shown = withoutSent(withoutNoReply(text), { sent });
  return shown === text.trim() ? {} : { shown };
}

const showsReasoning = ({ run, own }: SessionContext): boolean =>
  run?.reasoning ?? own.reasoning ?? false;

// ---- retriable failures

/** Longest wait that a provider may request. */
const RETRY_AFTER_MAX_MS = 60_000;

export const mayPass = ({ context, event }: ActionArgs): boolean => {
  const { code, retryAfterMs = 0 } = errorOf(event);
  const isRetriable = (ERRORS[code]?.retriable ?? false) && retryAfterMs <= RETRY_AFTER_MAX_MS;
  return isRetriable && runOf(context).attempt + 1 < ATTEMPTS_MAX;
};

export const countAttempt = ({ context, event }: ActionArgs): ActionResult => ({
  change: withRun(context, { attempt: runOf(context).attempt + 1, error: errorOf(event) }),
});

/** Doubles, or the provider's requested wait if that is longer. */
export function retryBackoffMs({ context }: { context: SessionContext }): number {
  const { attempt, error } = runOf(context);
  const doubled = Math.min(RETRY_MS.first * 2 ** (attempt - 1), RETRY_MS.max);
  return Math.max(doubled, error?.retryAfterMs ?? 0);
}

// ---- a run ends

/** Sets the outcome of the run. Every way to end calls it; it determines the published texts. */
export function ended(
  context: SessionContext,
  status: RunStatus,
  error?: ErrorData,
): Partial<SessionContext> {
  const { error: _, ...rest } = runOf(context);
  const known = presumed(context);
  const run: Run = { ...rest, ...known.run, status, ...(error ? { error } : {}) };
  const { answer: text = '', stop, reasoningText, verbose, tools, sent, notices } = run;
  const { text: reply } = shapeReply({
    status,
    text,
    showReasoning: showsReasoning(context),
    verbose: verbose ?? context.own.verbose ?? context.settings?.verbose ?? 'off',
    tools,
    sent: sent.filter(({ to }) => to === context.sessionKey),
    mayDecline: run.origin?.kind === 'agent' || run.origin?.kind === 'announce',
    ...defined({ stop, reasoning: reasoningText, error, notices }),
  });
  return { ...known.context, run: { ...run, reply } };
}

/**
 * If the first call has no outcome yet, hooks may have run, so they are called for the end, too.
 */
function presumed(context: SessionContext) {
  const { hasCalled, isAssembled } = runOf(context);
  if (!hasCalled || isAssembled) return {};
  return {
    run: { replyHooks: true },
    context: { isFresh: false, endHooks: true, ...(context.ended ? { ended: null } : {}) },
  };
}

export const endOk = ({ context }: ActionArgs): ActionResult => ({ change: ended(context, 'ok') });
export const endFailed = ({ context, event }: ActionArgs): ActionResult => ({
  change: ended(context, 'error', errorOf(event)),
});
export const endAtCeiling = ({ context }: ActionArgs): ActionResult => ({
  change: ended(context, 'error', ceilingOf(context)),
});
export const endAsRepeating = ({ context }: ActionArgs): ActionResult => ({
  change: ended(context, 'error', repeatingError(context)),
});
export const endLate = ({ context }: ActionArgs): ActionResult => {
  const { asked: _, ...run } = runOf(context);
  const { attempt, error } = run;
  const failures = `; its model call failed before (attempts: ${attempt}): ${error?.message}`;
  const message = `the run took longer than ${runTimeoutMs(context)} ms${attempt > 0 ? failures : ''}`;
  return {
    change: ended({ ...context, run }, 'timeout', { code: 'DEADLINE_EXCEEDED', message }),
    tells: withdrawal(context),
  };
};

// ---- hooks that see the reply

export const hasReplyHooks = ({ context }: ActionArgs): boolean => runOf(context).replyHooks;

export function replyInput({ context }: { context: SessionContext }): ReplyInput {
  const { tenant, agentId, sessionKey, contextFrom } = context;
  const { runId, status, reply = '', usage, startedAt, error } = runOf(context);
  const about = { tenant, agentId, sessionKey, runId };
  const outcome = { status, text: reply, usage, startedAt, from: contextFrom };
  return { ...about, ...outcome, ...defined({ error, chat: destinationOf(context) }) };
}

export const onReply = ({ context, event }: ActionArgs): ActionResult => ({
  change: withRun(context, { reply: outputOf<ReplyOutput>(event).text }),
});

/** A required hook failed, so the reply is not published. The run fails with the reason. */
export const withholdReply = ({ context, event }: ActionArgs): ActionResult => {
  const { status } = runOf(context);
  const failed = status === 'ok' ? { status: 'error' as const, error: errorOf(event) } : {};
  return { change: withRun(context, { ...failed, reply: '' }) };
};

// ---- the end

/**
 * Stores the end and sends it to every actor that waits for the run, or for a message that joined
 * it. Conversations and subagents that its calls waited for continue.
 */
export function end({ context, event }: ActionArgs): ActionResult {
  const now = nowOf(event);
  const { runId, status, error, usage, joined, lease } = runOf(context);
  const release: Tell = {
    to: admitterOf(context),
    event: { type: 'agent.release', runId, usage, ...defined({ lease }) },
  };
  const bonds = atRunEnd(context);
  const past = { ...bonds.change, run: null, length: context.length + 1, updatedAt: now };
  const change = { ...past, ...endIfInactive({ ...context, ...past }) };
  const after = { ...context, ...change };
  return {
    ...bonds,
    change,
    entries: [{ type: 'run.end', runId, status, at: now, ...defined({ error }) }],
    events: endEvents(context, now),
    tells: [
      release,
      ...withdrawal(context),
      ...(bonds.tells ?? []),
      ...runEnds(context, after, now),
    ],
    rows: [
      rows.runRow(context, now),
      ...joined.map((one) => rows.joinedEndRow(context, one, now)),
      rows.sessionRow(after),
    ],
  };
}
