/**
 * Session messages: the end of a transcript for other agents: user messages, answers, and tool
 * results. It contains no prompts, reasoning, provider data, usage or prices.
 *
 * Invariants:
 *  1. A transcript is read backwards in pieces, only as far as requested: the cost does not depend
 *     on its length.
 *  2. Entries before the session's last reset are not read.
 *  3. The JSON of the messages has at most `bytesMax` bytes, plus up to 2 KiB of tool names in the
 *     oldest message. The oldest messages are dropped first.
 */
import type { ImagePart } from '../../../protocols/content.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { TranscriptReader } from '../../../runtime/index.ts';
import { isoOf } from './session-view.ts';

/** Maximum characters of one message. */
export const TEXT_CHARACTERS_MAX = 4_000;
const TOOL_NAME_MAX = 64;
const TOOLS_MAX = 32;
const CUT = '…(truncated)…';
/** Entries of the first and of the largest piece. */
const PIECE_MIN = 64;
const PIECE_MAX = 256;

export type SessionMessage = {
  role: 'user' | 'assistant' | 'tool';
  /** name of the tool */
  name?: string;
  content: string;
  /** ISO 8601 */
  timestamp: string;
  toolsUsed?: string[];
  /** session that sent the message, when the sender is not a user */
  from?: string;
  isError?: true;
  images?: readonly OmittedImage[];
};
type OmittedImage = { readonly omitted: true; readonly bytes: number };

export type MessagesWanted = {
  readonly limit: number;
  /** epoch milliseconds; older messages are excluded */
  readonly since?: number;
  /** includes tool results as separate messages, and answers that only call tools */
  readonly withTools: boolean;
  /** limit for the messages' JSON */
  readonly bytesMax: number;
};
export type MessagesRead = {
  /** oldest first */
  readonly messages: readonly SessionMessage[];
  /** older messages exist beyond `limit` */
  readonly more: boolean;
  /** older messages were dropped because of `bytesMax` */
  readonly truncated: boolean;
};

/** The last messages of a session. */
export async function lastMessages(
  transcript: TranscriptReader,
  { limit, since = -Infinity, withTools, bytesMax }: MessagesWanted,
): Promise<MessagesRead> {
  const kept: { readonly message: SessionMessage; readonly runId: string }[] = [];
  let bytes = 0;
  const done = (more: boolean, truncated: boolean): MessagesRead => ({
    messages: kept.map(({ message }) => message).reverse(),
    more,
    truncated,
  });
  for await (const entry of backwards(transcript)) {
    if (entry.at < since) break;
    const later = kept.at(-1);
    if (!withTools && isCallsOnly(entry)) {
      // An answer lists the tools that led to it.
      if (later?.runId === entry.runId && later.message.role === 'assistant')
        bytes += addTools(later.message, toolsOf(entry));
      continue;
    }
    const message = messageOf(entry, withTools);
    if (message === undefined) continue;
    if (kept.length === limit) return done(true, false);
    const size = Buffer.byteLength(JSON.stringify(message)) + 1;
    if (bytes + size > bytesMax) return done(true, true);
    bytes += size;
    kept.push({ message, runId: entry.runId });
  }
  return done(false, false);
}

/** Entries since the last reset, newest first. */
export async function* backwards(transcript: TranscriptReader): AsyncGenerator<SessionEntry> {
  let to = await transcript.last();
  for (let size = PIECE_MIN; to > 0; size = Math.min(2 * size, PIECE_MAX)) {
    const from = Math.max(1, to - size + 1);
    for (const entry of (await between(transcript, from, to)).toReversed()) {
      if (entry.type === 'reset') return;
      yield entry;
    }
    to = from - 1;
  }
}

/** A read may return fewer entries than requested when they are large. */
async function between(transcript: TranscriptReader, from: number, to: number) {
  const entries: SessionEntry[] = [];
  for (let next = from; next <= to; ) {
    const some = await transcript.read({ from: next, limit: to - next + 1 });
    if (some.length === 0) break;
    // Positions may have gaps, so the range contains at most this number of entries.
    for (const { position, entry } of some)
      if (position <= to) entries.push(entry as unknown as SessionEntry);
    next = some.at(-1)!.position + 1;
  }
  return entries;
}

type Answer = Extract<SessionEntry, { type: 'assistant' }>;

const isCallsOnly = (entry: SessionEntry): entry is Answer =>
  entry.type === 'assistant' && entry.text.trim() === '' && (entry.calls ?? []).length > 0;

/** Limits number and length of tool names, because models may invent names. */
const toolsOf = ({ calls = [] }: Answer): string[] =>
  [...new Set(calls.map(({ name }) => name.slice(0, TOOL_NAME_MAX)))].slice(0, TOOLS_MAX);

/** Adds older calls in front. Returns the number of bytes by which the message grew. */
function addTools(message: SessionMessage, older: readonly string[]): number {
  const before = Buffer.byteLength(JSON.stringify(message));
  const all = new Set([...older, ...(message.toolsUsed ?? [])]);
  message.toolsUsed = [...all].slice(-TOOLS_MAX);
  return Buffer.byteLength(JSON.stringify(message)) - before;
}

function messageOf(entry: SessionEntry, withTools: boolean): SessionMessage | undefined {
  switch (entry.type) {
    case 'user': {
      const { text, at, origin, images } = entry;
      const from = origin && { from: origin.sessionKey };
      return { role: 'user', ...said(text, at), ...from, ...omitted(images) };
    }
    case 'assistant': {
      const toolsUsed = toolsOf(entry);
      if (entry.text.trim() === '' && toolsUsed.length === 0) return undefined;
      const message: SessionMessage = { role: 'assistant', ...said(entry.text, entry.at) };
      return toolsUsed.length > 0 ? { ...message, toolsUsed } : message;
    }
    case 'tool': {
      if (!withTools) return undefined;
      const { name, result, isError, images, at } = entry;
      const error = isError ? { isError } : undefined;
      return { role: 'tool', name, ...said(result, at), ...error, ...omitted(images) };
    }
    default:
      return undefined;
  }
}

const said = (text: string, at: number) => ({ content: cutText(text), timestamp: isoOf(at) });

/** At most TEXT_CHARACTERS_MAX characters and the mark; never splits a surrogate pair. */
export function cutText(text: string, charactersMax = TEXT_CHARACTERS_MAX): string {
  if (text.length <= charactersMax) return text;
  const cut = text.slice(0, charactersMax);
  return (/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut) + CUT;
}

const omitted = (images: readonly ImagePart[] = []) =>
  images.length === 0
    ? undefined
    : { images: images.map(({ data }) => ({ omitted: true, bytes: decodedBytes(data) }) as const) };

const decodedBytes = (base64: string): number =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
