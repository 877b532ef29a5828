/**
 * Document: a short text with versions, stored by the shipped Data agent. Messages and rows that
 * the document actor, its actions and the verifier share.
 */
import { createHash } from 'node:crypto';
import { type Address, address } from './address.ts';

/** Maximum size of a content in UTF-16 units; larger ones are artifacts. */
export const DOCUMENT_CHARACTERS_MAX = 32_768;

/** Index `documents`, key the document's id. */
export const DOCUMENTS_INDEX = 'documents';
export type DocumentRow = {
  readonly document_id: string;
  /** from 1; every change increments it */
  readonly version: number;
  /** null: the document does not exist */
  readonly content: string | null;
  readonly content_hash: string | null;
  /** RFC 3339 */
  readonly updated_at: string;
  /** the task that created this version */
  readonly task_id: string;
};
/** The row in the index, with the previous versions for verifiers. */
export type DocumentIndexRow = DocumentRow & {
  /** the last ten versions before this one, oldest first; version 0: the document did not exist */
  readonly history: readonly Omit<DocumentVersion, 'document_id'>[];
};

/** SHA-256 of the UTF-8 text, lower-case hex. */
export const contentHashOf = (content: string): string =>
  createHash('sha256').update(content, 'utf8').digest('hex');

export const documentAddress = (tenant: string, documentId: string): Address =>
  address(tenant, 'document', documentId);

/**
 * Writes the content, as `agent_data.update_document`; creates the document. Reply:
 * DocumentVersion.
 */
export type DocumentUpdate = {
  readonly type: 'agent_data.update_document';
  readonly document_id: string;
  readonly content: string;
  /** CONFLICT unless it is the current version; 0: the document must not exist */
  readonly expected_version?: number;
  readonly task_id: string;
};
/** Reply: DocumentRow; NOT_FOUND when it does not exist. */
export type DocumentRead = {
  readonly type: 'agent_data.read_document';
  readonly document_id: string;
  readonly task_id: string;
};
/**
 * Undoes one update by restoring the previous content. An update that has not arrived yet is
 * refused when it does. CONFLICT after a later change. Reply: DocumentRestored.
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
