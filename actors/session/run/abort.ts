/** Abort: stops runs and waiting messages, resets the session, and deletes it. Pure. */
import type { Project, Tell } from '../../../protocols/statechart.ts';
import { lastEnd, overBy } from '../subagents/children.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  metaOf,
  nowOf,
  on,
  type RunEventBody,
} from '../action-result.ts';
import { NO_USAGE } from '../../kit/usage.ts';
import { orphansOf } from '../subagents/orphans.ts';
import { messageEnds } from '../conversations/end-notices.ts';
import * as rows from '../rows.ts';
import { ended } from './run.ts';
import type { EndSessionInput, Joined, SessionContext } from '../types.ts';

export const abortsAll = on('session.abort', ({ event }): boolean => event.runId === undefined);

/** Also one that has joined it: it cannot be taken out again. */
export const abortsTheRun = on('session.abort', (at): boolean => {
  const { run } = at.context;
  if (!run) return false;
  return abortsAll(at) || [run, ...run.joined].some(({ runId }) => runId === at.event.runId);
});

/** What waits and is named; all without a name. */
const waitingNamed = ({ queue, folded }: SessionContext, runId?: string): readonly Joined[] =>
  [...folded, ...queue].filter((one) => runId === undefined || one.runId === runId);

/** Ends messages that never became runs: their rows, their events, and who waits for them. */
function endWaiting(context: SessionContext, ending: readonly Joined[], now: number) {
  const isLeft = (one: Joined) => !ending.some(({ runId }) => runId === one.runId);
  const change = { queue: context.queue.filter(isLeft), folded: context.folded.filter(isLeft) };
  return {
    change,
    tells: messageEnds(ending, { ...context, ...change }, now),
    rows: ending.map(
      (one): Project => rows.waitingRow(context, one, { status: 'aborted', endedAt: now }),
    ),
    events: ending.map(
      ({ runId, acceptedAt }): RunEventBody => ({
        runId,
        stream: 'lifecycle',
        phase: 'end',
        startedAt: acceptedAt,
        endedAt: now,
        text: '',
        usage: NO_USAGE,
        status: 'aborted',
      }),
    ),
  };
}

type Last = { readonly change: Partial<SessionContext>; readonly tells: readonly Tell[] };
const NOT_LAST: Last = { change: {}, tells: [] };

/** In a subagent's session: whether this was the last activity, for which its subagent waits. */
function lastOf(
  context: SessionContext,
  change: Partial<SessionContext>,
  now: number,
  message: string,
): Last {
  if (context.isOver) return NOT_LAST;
  const after = { ...context, ...change };
  return { change: overBy(after), tells: lastEnd(after, now, { code: 'CANCELLED', message }) };
}

/** Answers with what it ends; the run's own end comes with the state `ending`. */
export const abort = on('session.abort', (at): ActionResult => {
  const { context, event } = at;
  const { run, compaction } = context;
  const ending = waitingNamed(context, event.runId);
  const waiting = endWaiting(context, ending, nowOf(event));
  const goes = abortsTheRun(at);
  const running = goes ? [run!, ...run!.joined].map(({ runId }) => runId) : [];
  const change = {
    ...waiting.change,
    ...(goes ? ended(context, 'aborted') : {}),
    ...(compaction && abortsAll(at) ? { compaction: null } : {}),
  };
  const aborted = [...running, ...ending.map(({ runId }) => runId)];
  const last = run ? NOT_LAST : lastOf(context, change, nowOf(event), 'what waited was aborted');
  return {
    ...waiting,
    change: { ...change, ...last.change },
    tells: [...waiting.tells, ...last.tells],
    // a session that never was does not come into the list by it
    rows: [
      ...waiting.rows,
      ...(aborted.length > 0 ? [rows.sessionRow({ ...context, ...change })] : []),
    ],
    answer: { to: metaOf(event).reply, result: { aborted } },
  };
});

/** The message that interrupts waits already; the run ends for it. */
export const endInterrupted = ({ context }: ActionArgs): ActionResult => ({
  change: ended(context, 'aborted'),
});

// ---- reset

/** Everything ends as aborted; then the session is reset. */
export const askReset = on('session.reset', ({ context, event }): ActionResult => {
  const { reply, id } = metaOf(event);
  const { reason } = event;
  const waiting = endWaiting(context, waitingNamed(context), nowOf(event));
  return {
    ...waiting,
    change: {
      ...waiting.change,
      ...(context.run ? ended(context, 'aborted') : {}),
      compaction: null,
      reset: { reply: reply ?? null, sessionId: id, ...defined({ reason }) },
    },
  };
});

export const resetAsked = ({ context }: ActionArgs): boolean => context.reset !== null;

/** What hooks learn of its end; nothing of one that has had no run. */
const endedAs = ({ isFresh, endHooks, sessionId }: SessionContext, reason: string) =>
  isFresh || !endHooks ? {} : { ended: { sessionId, reason } };

/** It has ended, and the hooks have not been called. */
export const isOver = ({ context }: ActionArgs): boolean => (context.ended ?? null) !== null;

export const endSessionInput = ({ context }: { context: SessionContext }): EndSessionInput => {
  const { tenant, agentId, sessionKey } = context;
  return { tenant, agentId, sessionKey, ended: context.ended! };
};

/** The hooks of its end are at work: what came now would be lost with it. */
export const refuseClosing = ({ context, event }: ActionArgs): ActionResult => {
  const message = `the session ${context.sessionKey} is being deleted; send again in a moment`;
  return { answer: { to: metaOf(event).reply, error: { code: 'UNAVAILABLE', message } } };
};
export const answerClosing = ({ event }: ActionArgs): ActionResult => ({
  answer: { to: metaOf(event).reply, result: { closed: true } },
});

export const part = (): ActionResult => ({ change: { ended: null } });

/** A new session id without the old conversation, settings (except name and channel) and counts. */
export function renew({ context, event }: ActionArgs): ActionResult {
  const { reply, sessionId, reason } = context.reset!;
  const now = nowOf(event);
  const { label, pinned, category } = context.own;
  const orphans = orphansOf(context, context.books?.onReset ?? 'cascade');
  const change = {
    ...orphans.change,
    reset: null,
    sessionId,
    own: defined({ label, pinned, category }),
    digest: null,
    isFresh: true,
    ...endedAs(context, reason ?? 'reset'),
    usage: NO_USAGE,
    ...(context.contextTokens === undefined ? {} : { contextTokens: undefined }),
    ...(context.usedModel === undefined ? {} : { usedModel: undefined }),
    lastMessage: '',
    length: context.length + 1,
    updatedAt: now,
  };
  const last = lastOf(context, change, now, 'its session was reset');
  return {
    change: { ...change, ...last.change },
    tells: [...orphans.tells, ...last.tells],
    entries: [{ type: 'reset', runId: '', sessionId, at: now, ...defined({ reason }) }],
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to: reply ?? undefined, result: { sessionId } },
  };
}

// ---- being deleted

/** Everything ends as aborted; then the session is deleted. */
export const askClose = on('session.close', ({ context, event }): ActionResult => {
  const { reply } = metaOf(event);
  const { orphans } = event;
  const waiting = endWaiting(context, waitingNamed(context), nowOf(event));
  const over = endedAs(context, 'deleted');
  const change = {
    ...waiting.change,
    ...(context.run ? ended(context, 'aborted') : {}),
    compaction: null,
    closing: { reply: reply ?? null, ...defined({ orphans }) },
    ...over,
  };
  // it is in the list while its hooks are called
  const isShown = 'ended' in over || waiting.rows.length > 0;
  const shown = isShown ? [rows.sessionRow({ ...context, ...change })] : [];
  return { ...waiting, change, rows: [...waiting.rows, ...shown] };
});

export const closeAsked = ({ context }: ActionArgs): boolean => context.closing !== undefined;

/** It leaves the list; models see nothing before the entry that a reset leaves, too. */
export function close({ context, event }: ActionArgs): ActionResult {
  const { reply, orphans: asked } = context.closing!;
  const orphans = orphansOf(context, asked ?? context.books?.onReset ?? 'cascade');
  const { sessionId } = context;
  const gone = { ...orphans.change, children: undefined, reports: undefined, awaited: undefined };
  const last = lastOf(context, gone, nowOf(event), 'its session was deleted');
  const entry = {
    type: 'reset',
    runId: '',
    sessionId,
    reason: 'closed',
    at: nowOf(event),
  } as const;
  return {
    change: { ...orphans.change, length: context.length + 1 },
    entries: [entry],
    tells: [...orphans.tells, ...last.tells],
    rows: [rows.noSessionRow(context)],
    answer: { to: reply ?? undefined, result: { closed: true } },
  };
}
