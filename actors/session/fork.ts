/**
 * Fork: a new session takes over the conversation of another one, up to a turn. Pure.
 *
 * It keeps what belongs to the conversation: transcript, settings, size of the context. It keeps
 * nothing that is under way or that others wait for: runs, messages in the queue, approvals,
 * leases, subagents, conversations with agents, requests to answer. So no effect, message or timer
 * of the other session happens a second time. A run that was active at that turn ends in the fork
 * as aborted; the fork is idle and begins its own runs.
 */
import type { ForkDone } from '../../protocols/session-fork.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  errorOf,
  metaOf,
  nowOf,
  on,
  outputOf,
} from './action-result.ts';
import * as rows from './rows.ts';
import { endWaiting, waitingNamed } from './run/abort.ts';
import type { CopyInput, CopyOutput, CutRun, ForkStart, SessionContext } from './types.ts';

/** No message has been sent to it, and nothing was set. */
export const isNew = ({ context }: ActionArgs): boolean =>
  context.sessionId === '' && context.length === 0;

/** What a fork at this context begins with. */
export function startOf(context: SessionContext): ForkStart {
  const { own, settings, lastMessage, contextTokens, usedModel } = context;
  const { archived: _, pinned: __, ...kept } = own;
  return {
    own: kept,
    settings,
    lastMessage,
    ...defined({ contextTokens, usedModel, cut: cutOf(context) }),
  };
}

/** A run whose outcome was known ends with that; any other was cut off by the fork. */
function cutOf({ run }: SessionContext): CutRun | undefined {
  if (!run) return undefined;
  const { runId, status, error } = run;
  if (status !== 'running' && status !== 'queued') return { runId, status, ...defined({ error }) };
  const message = 'the session was forked during this run, which continues only in the original';
  return { runId, status: 'aborted', error: { code: 'CANCELLED', message } };
}

// ---- the new session

export const askFork = on('session.fork', ({ context, event }): ActionResult => {
  const { reply, id } = metaOf(event);
  const fork = { reply: reply ?? null, copied: 0 };
  const change = { sessionId: id, forkedFrom: event.from, fork };
  return { change, rows: [rows.sessionRow({ ...context, ...change })] };
});

export const refuseFork = ({ context, event }: ActionArgs): ActionResult => {
  const message = `the session ${context.sessionKey} exists already: choose another key`;
  return { answer: { to: metaOf(event).reply, error: { code: 'CONFLICT', message } } };
};

export const copyInput = ({ context }: { context: SessionContext }): CopyInput => {
  const { tenant, forkedFrom, fork } = context;
  return { tenant, from: forkedFrom!, ...defined({ rest: fork!.rest }) };
};

export const hasMore = ({ event }: ActionArgs): boolean =>
  outputOf<CopyOutput>(event).rest !== undefined;

/** Appends a page to the transcript. */
export function onPage({ context, event }: ActionArgs): ActionResult {
  const { start, entries, rest } = outputOf<CopyOutput>(event);
  const { cut = context.fork!.cut, own, ...kept } = start ?? {};
  const { reply, copied } = context.fork!;
  const [first] = entries;
  const change = {
    ...kept,
    ...(own ? { own: { ...own, ...context.own } } : {}),
    // A page begins with a compaction, because its position is known only then.
    ...(first?.type === 'compaction' ? { contextFrom: first.keptFrom } : {}),
    length: context.length + entries.length,
    fork: { reply, copied: copied + entries.length, ...defined({ rest, cut }) },
  };
  return { change, entries, rows: [rows.sessionRow({ ...context, ...change })] };
}

/** The last page is stored: the session is there. */
export function endFork({ context, event }: ActionArgs): ActionResult {
  const { reply, copied, cut } = context.fork!;
  const { sessionId, forkedFrom } = context;
  const at = nowOf(event);
  const entries: SessionEntry[] = [
    ...(cut ? [{ type: 'run.end' as const, ...cut, at }] : []),
    { type: 'fork', runId: '', from: forkedFrom!, at },
  ];
  const change = { fork: undefined, length: context.length + entries.length, updatedAt: at };
  const result: ForkDone = { sessionId, forkedFrom: forkedFrom!, copied };
  return {
    change,
    entries,
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to: reply ?? undefined, result },
  };
}

/** It could not be copied: the session is deleted again. */
export function failFork({ context, event }: ActionArgs): ActionResult {
  const waiting = endWaiting(context, waitingNamed(context), nowOf(event));
  return {
    ...waiting,
    change: { ...waiting.change, fork: undefined, closing: { reply: null } },
    answer: { to: context.fork!.reply ?? undefined, error: errorOf(event) },
  };
}

/** It is reset or deleted before it was copied. */
export const cancelFork = ({ context }: ActionArgs): ActionResult => {
  const message = `the session ${context.sessionKey} was reset or deleted before it was copied`;
  return {
    change: { fork: undefined },
    answer: { to: context.fork!.reply ?? undefined, error: { code: 'CANCELLED', message } },
  };
};
