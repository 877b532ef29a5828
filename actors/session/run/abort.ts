/** Abort: stops runs and waiting messages, resets the session, and deletes it. Pure. */
import type { Project, Tell } from '../../../protocols/statechart.ts';
import { lastEnd, endIfInactive } from '../subagents/children.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  metaOf,
  nowOf,
  on,
  type RunEventBody,
} from '../action-result.ts';
import { NO_USAGE } from '../../../protocols/models/model-usage.ts';
import { orphansOf } from '../subagents/orphans.ts';
import { messageEnds } from '../conversations/end-notices.ts';
import * as rows from '../rows.ts';
import { ended } from './run.ts';
import type { EndSessionInput, Joined, SessionContext } from '../types.ts';

export const abortsAll = on('session.abort', ({ event }): boolean => event.runId === undefined);

/** Whether the event names the run or a message that joined it, which cannot leave it again. */
export const abortsTheRun = on('session.abort', (at): boolean => {
  const { run } = at.context;
  if (!run) return false;
  return abortsAll(at) || [run, ...run.joined].some(({ runId }) => runId === at.event.runId);
});

/** The waiting message with this run id; without an id, all waiting messages. */
export const waitingNamed = (
  { queue, folded }: SessionContext,
  runId?: string,
): readonly Joined[] =>
  [...folded, ...queue].filter((one) => runId === undefined || one.runId === runId);

/** Ends messages that never became runs: writes rows, publishes events, notifies waiting actors. */
export function endWaiting(context: SessionContext, ending: readonly Joined[], now: number) {
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

/** In a subagent's session: the notice to its subagent if this was the last activity. */
function lastOf(
  context: SessionContext,
  change: Partial<SessionContext>,
  now: number,
  message: string,
): Last {
  if (context.isOver) return NOT_LAST;
  const after = { ...context, ...change };
  return {
    change: endIfInactive(after),
    tells: lastEnd(after, now, { code: 'CANCELLED', message }),
  };
}

/** Answers with the number of ended messages; the state `ending` ends the run itself. */
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
  const last = run
    ? NOT_LAST
    : lastOf(context, change, nowOf(event), 'the waiting messages were aborted');
  return {
    ...waiting,
    change: { ...change, ...last.change },
    tells: [...waiting.tells, ...last.tells],
    // an abort does not add a session that never existed to the list
    rows: [
      ...waiting.rows,
      ...(aborted.length > 0 ? [rows.sessionRow({ ...context, ...change })] : []),
    ],
    answer: { to: metaOf(event).reply, result: { aborted } },
  };
});

/** Ends the run for the interrupting message, which is already in the queue. */
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

/** The ended session for its hooks; none if it had no run. */
const endedAs = ({ isFresh, endHooks, sessionId }: SessionContext, reason: string) =>
  isFresh || !endHooks ? {} : { ended: { sessionId, reason } };

/** The session has ended, and its hooks have not been called. */
export const hasEndHooksPending = ({ context }: ActionArgs): boolean =>
  (context.ended ?? null) !== null;

export const endSessionInput = ({ context }: { context: SessionContext }): EndSessionInput => {
  const { tenant, agentId, sessionKey } = context;
  return { tenant, agentId, sessionKey, ended: context.ended! };
};

/** Refuses a message while the end hooks of a deletion run: it would be lost with the session. */
export const refuseClosing = ({ context, event }: ActionArgs): ActionResult => {
  const message = `the session ${context.sessionKey} is being deleted; send again in a moment`;
  return { answer: { to: metaOf(event).reply, error: { code: 'UNAVAILABLE', message } } };
};
export const answerClosing = ({ event }: ActionArgs): ActionResult => ({
  answer: { to: metaOf(event).reply, result: { closed: true } },
});

export const clearEnded = (): ActionResult => ({ change: { ended: null } });

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
    ...(context.forkedFrom === undefined ? {} : { forkedFrom: undefined }),
    lastMessage: '',
    title: '',
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
export const askClose = on(
  ['session.close', 'session.expire'],
  ({ context, event }): ActionResult => {
    const { reply } = metaOf(event);
    const orphans = event.type === 'session.close' ? event.orphans : undefined;
    const waiting = endWaiting(context, waitingNamed(context), nowOf(event));
    const over = endedAs(context, 'deleted');
    const change = {
      ...waiting.change,
      ...(context.run ? ended(context, 'aborted') : {}),
      compaction: null,
      closing: { reply: reply ?? null, ...defined({ orphans }) },
      ...over,
    };
    // the list contains the session while its hooks run
    const isShown = 'ended' in over || waiting.rows.length > 0;
    const shown = isShown ? [rows.sessionRow({ ...context, ...change })] : [];
    return { ...waiting, change, rows: [...waiting.rows, ...shown] };
  },
);

/**
 * Nothing is under way, waits or was said since. A session without an id was created by this
 * message, because the one that it was sent to is deleted already.
 */
export const isUnused = on('session.expire', ({ context, event }): boolean => {
  const { run, queue, folded, reset, compaction, closing, fork, importing } = context;
  const { children = [], reports = [], awaited = [], waits = [] } = context;
  const open = [run, reset, compaction, closing, context.ended, fork, importing];
  const waiting = [queue, folded, children, reports, awaited, waits];
  return (
    (context.sessionId === '' || context.updatedAt < event.before) &&
    open.every((one) => one === undefined || one === null) &&
    waiting.every(({ length }) => length === 0)
  );
});
export const refuseExpiry = ({ context, event }: ActionArgs): ActionResult => {
  const message = `the session ${context.sessionKey} is in use`;
  return { answer: { to: metaOf(event).reply, error: { code: 'CONFLICT', message } } };
};

export const closeAsked = ({ context }: ActionArgs): boolean => context.closing !== undefined;

/** Removes the session from the list. Its `reset` entry hides all earlier entries from models. */
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
    deleted: true,
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
