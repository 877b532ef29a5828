/**
 * Compaction: replaces the older part of a conversation by a summary, when a model call is too long
 * or when a user sends /compact. Pure.
 */
import type { ErrorData } from '../../../protocols/errors.ts';
import type { CompactionDone, SessionEntry, Usage } from '../../../protocols/session.ts';
import type { Tell } from '../../../protocols/statechart.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  errorOf,
  metaOf,
  nowOf,
  on,
  outputOf,
  runOf,
} from '../action-result.ts';
import { sum } from '../../../protocols/models/model-usage.ts';
import * as rows from '../rows.ts';
import { ended } from './run.ts';
import { admitterOf, workspaceOf } from '../subagents/subagent-limits.ts';
import type { CompactInput, CompactOutput, SessionContext } from '../types.ts';

/** Compactions of one run; after them a conversation that is too long fails the run. */
export const COMPACTIONS_MAX = 3;

export const compactInput = ({ context }: { context: SessionContext }): CompactInput => {
  const { tenant, agentId, sessionKey, contextFrom, settings, run, own, compaction } = context;
  return {
    tenant,
    agentId,
    sessionKey,
    runId: run?.runId ?? '',
    from: contextFrom,
    settings: settings!,
    ...defined({
      model: run?.model ?? own.model ?? settings?.model,
      instructions: compaction?.instructions,
      workspace: workspaceOf(context),
    }),
  };
};

/** Whether the call failed because the conversation exceeds the model's context window. */
export const isTooLong = ({ context, event }: ActionArgs): boolean => {
  const { code, details } = errorOf(event);
  const tooLong = code === 'PAYLOAD_TOO_LARGE' || details?.['reason'] === 'context_length';
  return tooLong && runOf(context).compactions < COMPACTIONS_MAX;
};

export const hasShortened = ({ event }: ActionArgs): boolean =>
  outputOf<CompactOutput>(event).compacted;

/**
 * Moves the start of the model's view behind the summarized part. The prompt is before that
 * position, so it is built again.
 */
function shortened({ context, event }: ActionArgs) {
  const { compacted, summary, keptFrom, tokensBefore, tokensAfter, usage } =
    outputOf<CompactOutput>(event);
  const at = nowOf(event);
  const counted = { usage: sum(context.usage, usage), updatedAt: at };
  if (!compacted) return { change: counted, entries: [] };
  const runId = context.run?.runId ?? '';
  const entry: SessionEntry = {
    type: 'compaction',
    runId,
    summary,
    keptFrom,
    tokensBefore,
    tokensAfter,
    at,
  };
  const change = {
    ...counted,
    contextFrom: keptFrom,
    digest: null,
    length: context.length + 1,
  };
  return { change, entries: [entry] };
}

// ---- within a run

const event = (context: SessionContext, phase: 'start' | 'end', willRetry: boolean) =>
  ({ stream: 'compaction', phase, call: runOf(context).calls, willRetry }) as const;

export const begin = ({ context }: ActionArgs): ActionResult => ({
  events: [event(context, 'start', true)],
});

/** Repeats the call with the shorter conversation. */
export function shorten({ context, event: outcome }: ActionArgs): ActionResult {
  const { change, entries } = shortened({ context, event: outcome });
  const run = runOf(context);
  const { usage } = outputOf<CompactOutput>(outcome);
  const next = {
    ...change,
    run: {
      ...run,
      entries: 1,
      compactions: run.compactions + 1,
      usage: sum(run.usage, usage),
    },
  };
  return {
    change: next,
    entries,
    events: [event(context, 'end', true)],
    rows: [rows.sessionRow({ ...context, ...next })],
  };
}

const CAN_NOT: ErrorData = {
  code: 'INVALID_ARGUMENT',
  message:
    'the conversation is too long for the model and cannot be shortened: send a shorter message, or start a new conversation with /new',
  details: { reason: 'context_length' },
};

export const giveUp = ({ context }: ActionArgs): ActionResult => ({
  change: ended(context, 'error', CAN_NOT),
  events: [event(context, 'end', false)],
});

export const fail = ({ context, event: outcome }: ActionArgs): ActionResult => ({
  change: ended(context, 'error', errorOf(outcome)),
  events: [event(context, 'end', false)],
});

// ---- requested by a user

export const knowsSettings = ({ context }: ActionArgs): boolean => context.settings !== null;

export const ask = on('session.compact', ({ event: asked }): ActionResult => {
  const { instructions } = asked;
  const { reply } = metaOf(asked);
  return { change: { compaction: { reply: reply ?? null, ...defined({ instructions }) } } };
});

const NOTHING: CompactionDone = { compacted: false, tokensBefore: 0, tokensAfter: 0 };

/** A session without runs has nothing to compact. */
export const answerNothing = ({ event: asked }: ActionArgs): ActionResult => ({
  answer: { to: metaOf(asked).reply, result: NOTHING },
});

export const refuse = ({ context, event: asked }: ActionArgs): ActionResult => {
  const doing = context.run ? 'it answers a message' : 'a compaction is running or messages wait';
  const message = `the session ${context.sessionKey} cannot be compacted while ${doing}; try again when it is idle`;
  return { answer: { to: metaOf(asked).reply, error: { code: 'CONFLICT', message } } };
};

export function take({ context, event: outcome }: ActionArgs): ActionResult {
  const { compacted, tokensBefore, tokensAfter, usage } = outputOf<CompactOutput>(outcome);
  const result: CompactionDone = { compacted, tokensBefore, tokensAfter };
  const { change, entries } = shortened({ context, event: outcome });
  const next = { ...change, compaction: null };
  return {
    change: next,
    entries,
    rows: [rows.sessionRow({ ...context, ...next })],
    tells: charge(context, usage),
    answer: { to: context.compaction?.reply ?? undefined, result },
  };
}

/** A compaction is not a run, but budgets count its cost. */
const charge = (context: SessionContext, usage: Usage): Tell[] =>
  usage.inputTokens + usage.outputTokens === 0
    ? []
    : [{ to: admitterOf(context), event: { type: 'agent.release', runId: '', usage } }];

export const onFailure = ({ context, event: outcome }: ActionArgs): ActionResult => ({
  change: { compaction: null },
  answer: { to: context.compaction?.reply ?? undefined, error: errorOf(outcome) },
});

/** The compaction was stopped, or the session is reset. */
export const cancel = ({ context }: ActionArgs): ActionResult => ({
  answer: {
    to: context.compaction?.reply ?? undefined,
    error: { code: 'CANCELLED', message: 'the compaction was stopped' },
  },
});
