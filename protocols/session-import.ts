/**
 * Imports: a session that continues a conversation from files of another installation. The files
 * have one JSON object per session (`SessionFacts`) and one transcript entry per line.
 */
import type { SessionEntry, SessionRow } from './session.ts';

/** What a session is besides its transcript, as an export writes it and an import restores it. */
export type SessionFacts = Pick<
  SessionRow,
  | 'sessionId'
  | 'createdAt'
  | 'updatedAt'
  | 'usage'
  | 'model'
  | 'ownModel'
  | 'title'
  | 'lastMessage'
  | 'label'
  | 'channel'
  | 'contextTokens'
  | 'forkedFrom'
  | 'queue'
  | 'thinking'
  | 'verbose'
  | 'reasoning'
  | 'archived'
  | 'pinned'
  | 'category'
>;

/**
 * To a session without messages, one page of its transcript after another; other messages wait
 * until the last page. Reply: ImportDone. CONFLICT when the session has another id, or a page is
 * missing before this one; a repeated page changes nothing.
 */
export type SessionImport = {
  type: 'session.import';
  facts: SessionFacts;
  /** entries before this page */
  from: number;
  /** a compaction is only the first, and names the position of an entry in this transcript */
  entries: readonly SessionEntry[];
  isLast: boolean;
};

export type ImportDone = {
  sessionId: string;
  /** entries of the session up to now */
  entries: number;
  /** the last page is stored */
  isComplete: boolean;
};
