/**
 * Import: a new session takes over a conversation that was exported elsewhere, page by page. Pure.
 *
 * Invariant: an entry is appended once, however often its page arrives, and only to a session that
 * began with this import: an existing session is never changed.
 */
import type { ImportDone, SessionFacts } from '../../protocols/session-import.ts';
import {
  type ActionArgs,
  type ActionResult,
  type ArgsOf,
  defined,
  metaOf,
  on,
} from './action-result.ts';
import * as rows from './rows.ts';
import { isNew } from './fork.ts';
import type { SessionContext } from './types.ts';

type ImportArgs = ArgsOf<'session.import'>;

/** A first page, for a session to which nothing has been sent. */
export const beginsImport = (at: ActionArgs): boolean =>
  isNew(at) && (at as ImportArgs).event.from === 0;

export const isImported = ({ context }: ActionArgs): boolean => !context.importing;

/** Appends the page unless it is there already. */
export const onImportPage = on('session.import', (at): ActionResult => {
  const { context, event } = at;
  const { facts, from, entries, isLast } = event;
  const isKnown = context.sessionId === '' || context.sessionId === facts.sessionId;
  if (!isKnown || from !== context.length) return answerImport(at);
  const [first] = entries;
  const length = from + entries.length;
  const change = {
    ...restored(context, facts),
    ...(first?.type === 'compaction' ? { contextFrom: first.keptFrom } : {}),
    length,
    importing: isLast ? undefined : true,
  } as const;
  return {
    change,
    entries,
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to: metaOf(event).reply, result: done(facts.sessionId, length, isLast) },
  };
});

/** What is stored, if this page is part of it. */
export const answerImport = on('session.import', ({ context, event }): ActionResult => {
  const to = metaOf(event).reply;
  const { sessionId, length, importing } = context;
  const { facts, from, entries } = event;
  if (sessionId === facts.sessionId && from + entries.length <= length)
    return { answer: { to, result: done(sessionId, length, !importing) } };
  const message =
    sessionId === facts.sessionId
      ? `the session ${context.sessionKey} has ${length} entries, and this page begins at ${from}`
      : `the session ${context.sessionKey} exists already`;
  return { answer: { to, error: { code: 'CONFLICT', message } } };
});

/** It is reset or deleted before the last page. */
export const endImport = (): ActionResult => ({ change: { importing: undefined } });

const done = (sessionId: string, entries: number, isComplete: boolean): ImportDone => ({
  sessionId,
  entries,
  isComplete,
});

function restored({ own }: SessionContext, facts: SessionFacts): Partial<SessionContext> {
  const { sessionId, createdAt, updatedAt, usage, lastMessage = '', title } = facts;
  const { channel, contextTokens, forkedFrom, model, ownModel } = facts;
  const { label, queue, thinking, verbose, reasoning, category } = facts;
  const set = { model: ownModel, label, queue, thinking, verbose, reasoning, category };
  const marks = { archived: isSet(facts.archived), pinned: isSet(facts.pinned) };
  return {
    sessionId,
    createdAt,
    updatedAt,
    usage,
    lastMessage,
    own: { ...own, ...defined({ ...set, ...marks }) },
    ...defined({ title, channel, contextTokens, forkedFrom, usedModel: model }),
  };
}

const isSet = (mark: boolean | undefined): true | undefined => (mark ? true : undefined);
