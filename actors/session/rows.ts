/**
 * Rows: the rows of a session in the indexes `runs` and `sessions`, which are read without
 * activating it. Pure.
 */
import type { RunRow, SessionRow } from '../../protocols/session.ts';
import type { Project } from '../../protocols/statechart.ts';
import { defined, runOf } from './action-result.ts';
import { firstOf } from '../kit/text.ts';
import type { Joined, SessionContext } from './types.ts';

/**
 * The row of an ended run is kept as long as its idempotency key, so that a repeat finds the
 * result.
 */
const RUN_KEPT_MS = 28 * 3_600_000;
const ROW_TEXT_CHARACTERS_MAX = 32 * 1024;
/** The reply in the rows and events of all messages that joined a run, together. */
const JOINED_TEXT_CHARACTERS_MAX = 256 * 1024;

/** The row of a message that waits, joined a run, or ended with one. */
export const waitingRow = (
  { sessionKey }: SessionContext,
  { runId, acceptedAt }: Joined,
  fields: Pick<RunRow, 'status'> & Partial<RunRow>,
): Project => projectedRun({ runId, sessionKey, acceptedAt, ...fields });

export function runRow(context: SessionContext, now: number): Project {
  const { runId, acceptedAt, startedAt, status } = runOf(context);
  const { sessionKey } = context;
  const row = { runId, sessionKey, status, acceptedAt, startedAt };
  return projectedRun(status === 'running' ? row : { ...row, ...endOf(context, now) });
}

function endOf(context: SessionContext, now: number): Partial<RunRow> {
  const { usage, reply, error, usedModel, messages } = runOf(context);
  const text = reply === undefined ? undefined : firstOf(reply, ROW_TEXT_CHARACTERS_MAX);
  return { endedAt: now, usage, ...defined({ text, error, model: usedModel, messages }) };
}

/**
 * The reply in the rows of messages that joined the run: complete if they are few, its beginning if
 * they are many, because the turn that ends a run must be small enough to store.
 */
export function replyOfJoined(context: SessionContext): string {
  const { reply = '', joined } = runOf(context);
  return firstOf(reply, Math.floor(JOINED_TEXT_CHARACTERS_MAX / Math.max(1, joined.length)));
}

/** A message that joined the run has the run's outcome; its usage is part of the run's usage. */
export function joinedEndRow(context: SessionContext, joined: Joined, now: number): Project {
  const { usage: _, text, ...end } = endOf(context, now);
  const { runId, status, startedAt } = runOf(context);
  const preview = text === undefined ? {} : { text: firstOf(text, replyOfJoined(context).length) };
  return waitingRow(context, joined, { ...end, ...preview, status, startedAt, joined: runId });
}

export function sessionRow(context: SessionContext): Project {
  const { sessionKey, sessionId, agentId, updatedAt, createdAt } = context;
  const { length, queue, folded, run, usage, lastMessage, own } = context;
  const { channel, deliverTo, contextTokens, terms, usedModel, forkedFrom, title } = context;
  const value: SessionRow = {
    sessionKey,
    sessionId,
    agentId,
    status: run ? 'running' : 'idle',
    updatedAt,
    createdAt,
    messages: length,
    pending: queue.length + folded.length,
    usage,
    lastMessage,
    ...defined({
      model: run?.usedModel ?? own.model ?? usedModel,
      ownModel: own.model,
      runId: run?.runId,
      title: title === '' ? undefined : title,
      label: own.label,
      channel,
      routedBy: deliverTo?.rule,
      contextTokens,
      spawnedBy: terms?.parent,
      forkedFrom,
      queue: own.queue,
      thinking: own.thinking,
      verbose: own.verbose,
      reasoning: own.reasoning,
      archived: own.archived,
      pinned: own.pinned,
      category: own.category,
    }),
  };
  return { index: 'sessions', key: sessionKey, value };
}

/** Removes the session from the list. */
export const noSessionRow = ({ sessionKey }: SessionContext): Project => ({
  index: 'sessions',
  key: sessionKey,
  value: null,
});

const projectedRun = (value: RunRow): Project => ({
  index: 'runs',
  key: value.runId,
  value,
  ...(value.endedAt === undefined ? {} : { keepMs: RUN_KEPT_MS }),
});
