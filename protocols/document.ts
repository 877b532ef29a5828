/**
 * Document: a small text with versions, as the shipped Data agent keeps it (EN13). The vocabulary
 * between the document actor, its actions, and whoever verifies it.
 */
import { createHash } from 'node:crypto';
import { type Address, address } from './address.ts';

/** UTF-16 units of a content; larger ones travel as artifacts. */
export const DOCUMENT_CHARACTERS_MAX = 32_768;

/** Index `documents`, key the document's id. */
export const DOCUMENTS_INDEX = 'documents';
export type DocumentRow = {
  readonly document_id: string;
  /** from 1, one more with every change, whatever it was */
  readonly version: number;
  /** null: the document is not there (any more) */
  readonly content: string | null;
  readonly content_hash: string | null;
  /** RFC 3339 */
  readonly updated_at: string;
  /** the task that made this version */
  readonly task_id: string;
};
/** As it lies in the index: whoever verifies sees what was written before the present version. */
export type DocumentIndexRow = DocumentRow & {
  /** the last ten before it, oldest first; version 0: there was none */
  readonly history: readonly Omit<DocumentVersion, 'document_id'>[];
};

/** SHA-256 of the UTF-8 text, lower-case hex. */
export const contentHashOf = (content: string): string =>
  createHash('sha256').update(content, 'utf8').digest('hex');

export const documentAddress = (tenant: string, documentId: string): Address =>
  address(tenant, 'document', documentId);

/** Content as of `agent_data.update_document`; creates the document. Answer: DocumentVersion. */
export type DocumentUpdate = {
  readonly type: 'agent_data.update_document';
  readonly document_id: string;
  readonly content: string;
  /** CONFLICT unless it is the present one; 0: there is none */
  readonly expected_version?: number;
  readonly task_id: string;
};
/** Answer: DocumentRow; NOT_FOUND when it is not there. */
export type DocumentRead = {
  readonly type: 'agent_data.read_document';
  readonly document_id: string;
  readonly task_id: string;
};
/**
 * Undoes one update: back to the content before it. An update that never came is kept from coming.
 * CONFLICT when somebody has written since. Answer: DocumentRestored.
 */
export type DocumentRestore = {
  readonly type: 'agent_data.restore_document';
  readonly document_id: string;
  /** the task whose update is undone */
  readonly update_task_id: string;
  readonly task_id: string;
};

export type DocumentVersion = {
  readonly document_id: string;
  readonly version: number;
  readonly content_hash: string | null;
};
export type DocumentRestored = DocumentVersion & {
  /** false: there was nothing to undo */
  readonly restored: boolean;
};
