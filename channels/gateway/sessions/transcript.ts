/**
 * Reads a session's transcript from its end, and converts entries to the messages that clients
 * show.
 */
import { address } from '../../../protocols/address.ts';
import { type ImagePart, textWithFiles } from '../../../protocols/content.ts';
import { defined } from '../../../protocols/defined.ts';
import type { ChatMessage } from '../../../protocols/gateway/index.ts';
import type { MessageOrigin, SessionEntry } from '../../../protocols/session.ts';
import type { Clock, TranscriptEntry } from '../../../runtime/index.ts';
import type { TenantScope } from '../tenant/tenant-scope.ts';
import { HISTORY_WINDOW } from '../limits.ts';
import { isMessage, type MessageCounts } from './message-counts.ts';
import type { RunEnd } from '../streams/live-runs.ts';
import { clientUsage } from '../streams/run-events.ts';

/**
 * A row's text is truncated at 64 KiB of UTF-8. A text of fewer characters than this is complete.
 */
const ROW_TEXT_SURELY_WHOLE = 16_384;
/** Number of last entries that are searched for the answer of a run. */
const ANSWER_WITHIN = 100;

/**
 * The last `count` entries, oldest first. Positions may have gaps, so the window grows until it
 * contains enough entries or reaches the first one.
 */
export const readLast = async (
  { system, tenant }: TenantScope,
  sessionKey: string,
  count: number,
): Promise<readonly TranscriptEntry[]> => {
  const actor = address(tenant, 'session', sessionKey);
  const last = await system.transcripts.last(actor);
  for (let window = count; last > 0; window *= 4) {
    const from = Math.max(1, last - window + 1);
    const found = await system.transcripts.read(actor, { from, limit: window });
    if (found.length >= count || from === 1) return found.slice(-count);
  }
  return [];
};

/** What reading the messages of a session needs. */
export type TranscriptScope = TenantScope & { readonly counts: MessageCounts };

type MessagePage = { readonly limit: number; readonly offset: number; readonly maxChars: number };

/** The `limit` messages before the last `offset` ones, oldest first, and the total number. */
export const readMessages = async (
  { system, tenant, counts }: TranscriptScope,
  sessionKey: string,
  { limit, offset, maxChars }: MessagePage,
): Promise<{ readonly messages: readonly ChatMessage[]; readonly total: number }> => {
  const actor = address(tenant, 'session', sessionKey);
  const last = await system.transcripts.last(actor);
  const total = await counts.total(system, actor, last);
  let entries: readonly TranscriptEntry[] = [];
  for (let to = last; to > 0 && entries.length < limit + offset; ) {
    const from = Math.max(1, to - HISTORY_WINDOW + 1);
    const read = await system.transcripts.read(actor, { from, limit: to - from + 1 });
    const fresh = read.filter(
      ({ position, entry }) => position <= to && isMessage(entry as SessionEntry),
    );
    entries = [...fresh, ...entries];
    to = from - 1;
  }
  const end = entries.length - offset;
  const shown = end <= 0 ? [] : entries.slice(Math.max(0, end - limit), end);
  return { messages: shown.flatMap((entry) => messageOf(entry, maxChars) ?? []), total };
};

/** The run's answer, read from the transcript when the row has only its start. */
export const wholeText = async (scope: TenantScope, end: RunEnd): Promise<string> => {
  if (end.text.length < ROW_TEXT_SURELY_WHOLE) return end.text;
  const entries = await readLast(scope, end.sessionKey, ANSWER_WITHIN);
  const said = entries
    .map(({ entry }) => entry as SessionEntry)
    .findLast(
      (entry) => entry.type === 'assistant' && entry.runId === end.runId && entry.of === undefined,
    );
  if (said?.type !== 'assistant') return end.text;
  const text = said.shown ?? said.text;
  return text.startsWith(end.text) ? text : end.text;
};

/** Maximum delay between the end of a run and its transcript entry. */
const LAG = { tries: 40, waitMs: 50 };

/** The messages that the run's tools sent to the conversation, in order. */
export const messagesOf = async (
  scope: TenantScope & { readonly clock: Clock },
  end: RunEnd,
): Promise<readonly string[]> => {
  const { messages: count = 0, runId, joined = runId, sessionKey } = end;
  for (let tries = 1; count > 0; tries++) {
    const found = await sentBy(scope, sessionKey, joined, count);
    if (found.length >= count || tries === LAG.tries) return found;
    await new Promise<void>((resolve) => void scope.clock.after(LAG.waitMs, resolve));
  }
  return [];
};

/** Reads backward from the end of the transcript to the first of them. */
const sentBy = async (
  { system, tenant }: TenantScope,
  sessionKey: string,
  runId: string,
  count: number,
): Promise<readonly string[]> => {
  const actor = address(tenant, 'session', sessionKey);
  let found: readonly string[] = [];
  let to = await system.transcripts.last(actor);
  while (to > 0 && found.length < count) {
    const from = Math.max(1, to - HISTORY_WINDOW + 1);
    const read = await system.transcripts.read(actor, { from, limit: to - from + 1 });
    const entries = read.flatMap(({ position, entry }) =>
      position <= to ? [entry as SessionEntry] : [],
    );
    const sent = entries.flatMap((entry) =>
      entry.type === 'assistant' && entry.runId === runId && entry.of !== undefined
        ? [textWithFiles(entry)]
        : [],
    );
    found = [...sent, ...found];
    if (entries.some((entry) => entry.type === 'user' && entry.runId === runId && !entry.of)) break;
    to = from - 1;
  }
  return found;
};

/** Converts an entry to a message; undefined if clients do not display it. */
export const messageOf = (
  { position, turn, entry }: TranscriptEntry,
  textCharactersMax: number,
): ChatMessage | undefined => {
  const said = entry as SessionEntry;
  const id = String(position);
  const place = { id, seq: position };
  const { runId, at: timestamp, copied } = said;
  const about = { id, runId, timestamp, ...defined({ turn, copied }), __openclaw: place };
  const text = (whole: string) => ({
    type: 'text',
    text: whole.length > textCharactersMax ? `${whole.slice(0, textCharactersMax)}…` : whole,
  });
  switch (said.type) {
    case 'user':
      return userMessage(said, about, text);
    case 'assistant':
      return assistantMessage(said, about, text);
    case 'tool':
      return {
        role: 'toolResult',
        toolCallId: said.callId,
        toolName: said.name,
        isError: said.isError,
        content: [text(said.result), ...(said.images ?? []).map(imageShown)],
        ...about,
      } as ChatMessage;
    case 'compaction':
      return markerOf('compaction', 'Compaction', about);
    case 'reset':
      return markerOf('reset', 'New conversation', about);
    case 'fork':
      return markerOf('fork', `Forked from ${said.from.key} at turn ${said.from.turn}`, about);
    case 'prompt':
      return undefined;
    case 'run.end':
      return isMessage(said) ? endMessage(said, about) : undefined;
  }
};

/** A divider between messages, in OpenClaw's form. */
const markerOf = (kind: string, label: string, about: { id: string; timestamp: number }) =>
  ({
    role: 'system',
    content: [{ type: 'text', text: label }],
    ...about,
    __openclaw: { kind, id: about.id },
  }) as ChatMessage;

/** A message that joined a run has its own id, and the run's id in addition. */
const userMessage = (
  said: SessionEntry & { type: 'user' },
  about: object,
  text: (whole: string) => { type: string; text: string },
) =>
  ({
    role: 'user',
    content: [text(said.text), ...(said.images ?? []).map(imageShown)],
    ...about,
    ...(said.of === undefined ? {} : { runId: said.of, joined: said.runId }),
    // The id by which a client recognizes a message that it already displays; notes have none.
    ...(said.runId === '' ? {} : { idempotencyKey: `${said.of ?? said.runId}:user` }),
    ...(said.sender ? { senderLabel: said.sender } : {}),
    ...(said.origin ? originShown(said.origin) : {}),
  }) as ChatMessage;

/** The author, if it is not a user: `origin` is troupe's field, `provenance` is OpenClaw's. */
const originShown = (origin: MessageOrigin) => ({
  origin,
  provenance: { kind: 'inter_session', sourceSessionKey: origin.sessionKey },
});

/** Without the bytes of images, because histories are read often. */
const imageShown = ({ mimeType, data }: ImagePart) => ({
  type: 'image',
  mimeType,
  bytes: Math.floor((data.length * 3) / 4),
  omitted: true,
});

const assistantMessage = (
  said: SessionEntry & { type: 'assistant' },
  about: object,
  text: (whole: string) => { type: string; text: string },
) => {
  const shown = said.shown ?? textWithFiles(said);
  return {
    role: 'assistant',
    content: [
      ...(said.reasoning ? [{ type: 'thinking', thinking: said.reasoning }] : []),
      ...(shown === '' ? [] : [text(shown)]),
      ...(said.calls ?? []).map(({ id, name, args }) => ({
        type: 'toolCall',
        id,
        name,
        arguments: args,
      })),
    ],
    ...about,
    ...(said.of === undefined ? {} : { runId: said.of, sentBy: said.runId }),
    ...defined({ files: said.files }),
    model: said.model,
    stopReason: said.stop,
    ...(said.usage ? { usage: clientUsage(said.usage) } : {}),
  } as ChatMessage;
};

const endMessage = (said: SessionEntry & { type: 'run.end' }, about: object) =>
  ({
    role: 'assistant',
    content: [],
    ...about,
    stopReason: said.status,
    ...(said.error ? { errorMessage: said.error.message } : {}),
  }) as ChatMessage;
