/** Abort: the pure parts of stopping runs that go and messages that wait. */
import type { Publish, Reply } from '../../protocols/statechart.ts';
import { type Args, NO_USAGE, nowOf, published } from './run.ts';
import type { Pending, SessionContext, SessionEvent } from './types.ts';

export const waits = (context: SessionContext, runId: string | undefined): boolean =>
  context.queue.some((pending) => runId === undefined || pending.runId === runId);

/** Removes waiting messages: the one that is named, or all. */
export const unqueue = (
  context: SessionContext,
  runId: string | undefined,
): Partial<SessionContext> => ({
  queue: runId === undefined ? [] : context.queue.filter((pending) => pending.runId !== runId),
});

/** The waiting message that an abort ends: the one it names, else the first. */
export const abortedPending = (context: SessionContext, event: SessionEvent): Pending => {
  const named = event.type === 'session.abort' ? event.runId : undefined;
  return context.queue.find(({ runId }) => runId === named) ?? context.queue[0]!;
};

/** Tells those who wait for a message that never became a run. */
export function waitingAborted(context: SessionContext, event: SessionEvent): Publish {
  const { runId, acceptedAt } = abortedPending(context, event);
  const at = nowOf(event);
  return published(context, {
    runId,
    sessionKey: context.sessionKey,
    at,
    stream: 'lifecycle',
    phase: 'end',
    startedAt: acceptedAt,
    endedAt: at,
    text: '',
    usage: NO_USAGE,
    status: 'aborted',
  });
}

export function aborted({ context, event }: Args): Reply {
  const runId = event.type === 'session.abort' ? event.runId : undefined;
  const named = (id: string) => runId === undefined || id === runId;
  const running = context.run && named(context.run.runId) ? [context.run.runId] : [];
  return {
    to: event.meta.reply,
    result: { aborted: [...running, ...context.queue.map((p) => p.runId).filter(named)] },
  };
}
