/**
 * Rows: what a session leaves in the indexes `runs` and `sessions` for those who read without
 * waking it (RT14).
 */
import type { RunRow, SessionRow } from '../../protocols/session.ts';
import type { Project } from '../../protocols/statechart.ts';
import { abortedPending } from './abort.ts';
import { defined, nowOf, runOf } from './run.ts';
import type { SessionContext, SessionEvent } from './types.ts';

/**
 * The row of a run that ended stays as long as its idempotency key does: a repeat finds its result.
 */
const RUN_KEPT_MS = 28 * 3_600_000;
const ROW_TEXT_CHARACTERS_MAX = 32 * 1024;

export function queuedRow(context: SessionContext): Project {
  const { runId, acceptedAt } = context.queue.at(-1)!;
  return projectedRun({ runId, sessionKey: context.sessionKey, status: 'queued', acceptedAt });
}

/** The row of the waiting message that an abort ends. */
export function abortedRow(context: SessionContext, event: SessionEvent): Project {
  const { runId, acceptedAt } = abortedPending(context, event);
  const { sessionKey } = context;
  return projectedRun({ runId, sessionKey, status: 'aborted', acceptedAt, endedAt: nowOf(event) });
}

export function runRow(context: SessionContext, now: number): Project {
  const { runId, acceptedAt, startedAt, status, usage, answer, error, usedModel } = runOf(context);
  return projectedRun({
    runId,
    sessionKey: context.sessionKey,
    status,
    acceptedAt,
    startedAt,
    ...(status === 'running'
      ? {}
      : {
          endedAt: now,
          usage,
          ...defined({ text: answer?.slice(0, ROW_TEXT_CHARACTERS_MAX), error, model: usedModel }),
        }),
  });
}

export function sessionRow(context: SessionContext): Project {
  const {
    sessionKey,
    sessionId,
    agentId,
    updatedAt,
    createdAt,
    length,
    queue,
    run,
    usage,
    lastMessage,
  } = context;
  const value: SessionRow = {
    sessionKey,
    sessionId,
    agentId,
    status: run ? 'running' : 'idle',
    updatedAt,
    createdAt,
    messages: length,
    pending: queue.length,
    usage,
    lastMessage,
    ...(run ? { runId: run.runId } : {}),
    ...defined({ model: run?.usedModel }),
  };
  return { index: 'sessions', key: sessionKey, value };
}

const projectedRun = (value: RunRow): Project => ({
  index: 'runs',
  key: value.runId,
  value,
  ...(value.endedAt === undefined ? {} : { keepMs: RUN_KEPT_MS }),
});
