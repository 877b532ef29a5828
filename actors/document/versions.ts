/**
 * Versions: the pure parts of the document's chart: contents with their history, and the applied
 * tasks, so that a repeat changes nothing.
 */
import {
  contentHashOf,
  DOCUMENT_CHARACTERS_MAX,
  type DocumentIndexRow,
  type DocumentRead,
  type DocumentRestore,
  type DocumentRestored,
  type DocumentRow,
  DOCUMENTS_INDEX,
  type DocumentUpdate,
  type DocumentVersion,
} from '../../protocols/document.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { ActorInput, Delivered, Project, Reply } from '../../protocols/statechart.ts';

/** Versions that are kept besides the present one. */
export const HISTORY_MAX = 10;
/** Number of tasks that are stored; a repeat arrives within minutes. */
export const SETTLED_MAX = 64;

type Version = Omit<DocumentRow, 'document_id'>;

/** The result of a task; `revoked`: an undo that arrived before its update and prevents it. */
type Settled = {
  readonly taskId: string;
  readonly result: DocumentVersion | DocumentRestored | null;
};

export type DocumentContext = {
  readonly id: string;
  /** the current version; 0 before the first update */
  readonly now: Version;
  /** oldest first */
  readonly history: readonly Version[];
  /** oldest first */
  readonly settled: readonly Settled[];
};
export type DocumentEvent =
  | Delivered<DocumentUpdate>
  | Delivered<DocumentRead>
  | Delivered<DocumentRestore>;
type Args = { context: DocumentContext; event: DocumentEvent };

export const initialContext = ({ key }: ActorInput): DocumentContext => ({
  id: key,
  now: { version: 0, content: null, content_hash: null, updated_at: '', task_id: '' },
  history: [],
  settled: [],
});

const settledOf = ({ settled }: DocumentContext, taskId: string): Settled | undefined =>
  settled.find((one) => one.taskId === taskId);

const settle = (
  { settled }: DocumentContext,
  taskId: string,
  result: Settled['result'],
): DocumentContext['settled'] => [...settled, { taskId, result }].slice(-SETTLED_MAX);

export const isSettled = ({ context, event }: Args): boolean =>
  settledOf(context, event.task_id) !== undefined;

export const isValid = ({ event }: Args): boolean =>
  event.type === 'agent_data.update_document' &&
  typeof event.content === 'string' &&
  event.content.length <= DOCUMENT_CHARACTERS_MAX;

export const isExpected = (args: Args): boolean => {
  const { context, event } = args;
  if (!isValid(args) || event.type !== 'agent_data.update_document') return false;
  return event.expected_version === undefined || event.expected_version === context.now.version;
};

const versionOf = (
  { id }: Pick<DocumentContext, 'id'>,
  { version, content_hash }: Version,
): DocumentVersion => ({ document_id: id, version, content_hash });

const written = (
  context: DocumentContext,
  content: string | null,
  { meta, task_id }: DocumentEvent,
): Pick<DocumentContext, 'now' | 'history'> => ({
  now: {
    version: context.now.version + 1,
    content,
    content_hash: content === null ? null : contentHashOf(content),
    updated_at: new Date(meta.now).toISOString(),
    task_id,
  },
  history: [...context.history, context.now].slice(-HISTORY_MAX),
});

export const update = ({ context, event }: Args): Partial<DocumentContext> => {
  if (event.type !== 'agent_data.update_document') return {};
  const next = written(context, event.content, event);
  return {
    ...next,
    settled: settle(context, event.task_id, versionOf(context, next.now)),
  };
};

/** The task's version is the current one, and the previous content is stored. */
export const isLast = ({ context, event }: Args): boolean =>
  event.type === 'agent_data.restore_document' &&
  context.now.version > 0 &&
  context.now.task_id === event.update_task_id &&
  context.history.length > 0;
/** Removes the document, because the update created it. */
export const wasFirst = (args: Args): boolean =>
  isLast(args) && args.context.history.at(-1)!.content === null;
/** The update did not arrive. If the list of settled tasks is full, it may have been forgotten. */
export const wasNever = ({ context, event }: Args): boolean => {
  if (event.type !== 'agent_data.restore_document') return false;
  const found = settledOf(context, event.update_task_id);
  return found ? found.result === null : context.settled.length < SETTLED_MAX - 1;
};

export const restore = ({ context, event }: Args): Partial<DocumentContext> => {
  const next = written(context, context.history.at(-1)!.content, event);
  const result = { ...versionOf(context, next.now), restored: true };
  return { ...next, settled: settle(context, event.task_id, result) };
};

/** An update that is undone before it arrives must not be applied later. */
export const revoke = ({ context, event }: Args): Partial<DocumentContext> => {
  if (event.type !== 'agent_data.restore_document') return {};
  const settled = settle(context, event.update_task_id, null);
  const result = { ...versionOf(context, context.now), restored: false };
  return { settled: settle({ ...context, settled }, event.task_id, result) };
};

// ---- row

export const row = (context: DocumentContext): DocumentRow => ({
  ...versionOf(context, context.now),
  content: context.now.content,
  updated_at: context.now.updated_at,
  task_id: context.now.task_id,
});

export const project = ({ context }: Args): Project => {
  const history = context.history.map(({ version, content_hash }) => ({ version, content_hash }));
  const value: DocumentIndexRow = { ...row(context), history };
  return { index: DOCUMENTS_INDEX, key: context.id, value };
};

/** The result of the task, from this turn or an earlier one. */
export const settled = (args: Args): Reply => {
  const { context, event } = args;
  const result = settledOf(context, event.task_id)?.result ?? null;
  if (result) return { to: event.meta.reply, result };
  return refusal(args, 'CONFLICT', 'this update was undone before it came', {});
};

export const read = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: row(context),
});

const refusal = (
  { context, event }: Args,
  code: ErrorData['code'],
  why: string,
  details: Record<string, unknown>,
): Reply => ({
  to: event.meta.reply,
  error: { code, message: `document ${context.id}: ${why}`, details },
});

export const absent = (args: Args): Reply =>
  refusal(args, 'NOT_FOUND', 'it is not there; `agent_data.update_document` creates it', {});

export const unfit = (args: Args): Reply =>
  refusal(args, 'INVALID_ARGUMENT', `content is text of up to ${DOCUMENT_CHARACTERS_MAX}`, {
    max: DOCUMENT_CHARACTERS_MAX,
  });

export const unexpected = (args: Args): Reply =>
  refusal(args, 'CONFLICT', `its version is ${args.context.now.version}, read it again`, {
    version: args.context.now.version,
  });

export const overwritten = (args: Args): Reply =>
  refusal(
    args,
    'CONFLICT',
    `version ${args.context.now.version} was written since; to restore would lose it`,
    { version: args.context.now.version },
  );
