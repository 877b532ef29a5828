/**
 * Reading a session's transcript from its end, and its entries as the messages clients show.
 */
import { address } from '../../protocols/address.ts';
import type { ChatMessage } from '../../protocols/gateway/index.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { TranscriptEntry } from '../../runtime/index.ts';
import type { Door } from './door.ts';
import type { RunEnd } from './run-book.ts';
import { clientUsage } from './run-events.ts';

/** A row's text is cut at 64 KiB of UTF-8 at most: one of so few characters is certainly whole. */
const ROW_TEXT_SURELY_WHOLE = 16_384;
/** Where the answer of a run is looked for, from the end of the transcript. */
const ANSWER_WITHIN = 100;

/**
 * The last `count` entries, oldest first. Positions may have gaps, so the window grows until it
 * holds enough or begins at the first.
 */
export const readLast = async (
  { system, tenant }: Pick<Door, 'system' | 'tenant'>,
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

/** The run's answer, from the transcript where the row has only its beginning. */
export const wholeText = async (door: Door, end: RunEnd): Promise<string> => {
  if (end.text.length < ROW_TEXT_SURELY_WHOLE) return end.text;
  const entries = await readLast(door, end.sessionKey, ANSWER_WITHIN);
  const said = entries
    .map(({ entry }) => entry as SessionEntry)
    .findLast((entry) => entry.type === 'assistant' && entry.runId === end.runId);
  return said?.type === 'assistant' && said.text.startsWith(end.text) ? said.text : end.text;
};

/**
 * One entry as a message; undefined for what is not shown (a run that ended well has its answer).
 */
export const messageOf = (
  { position, entry }: TranscriptEntry,
  textCharactersMax: number,
): ChatMessage | undefined => {
  const said = entry as SessionEntry;
  const about = { id: String(position), runId: said.runId, timestamp: said.at };
  const text = (whole: string) => ({
    type: 'text',
    text: whole.length > textCharactersMax ? `${whole.slice(0, textCharactersMax)}…` : whole,
  });
  const sender = said.type === 'user' && said.sender ? { senderLabel: said.sender } : {};
  switch (said.type) {
    case 'user':
      return { role: 'user', content: [text(said.text)], ...about, ...sender };
    case 'assistant':
      return assistantMessage(said, about, text);
    case 'tool':
      return {
        role: 'toolResult',
        toolCallId: said.callId,
        toolName: said.name,
        isError: said.isError,
        content: [text(said.result)],
        ...about,
      } as ChatMessage;
    case 'run.end':
      return endMessage(said, about);
  }
};

const assistantMessage = (
  said: SessionEntry & { type: 'assistant' },
  about: object,
  text: (whole: string) => { type: string; text: string },
) =>
  ({
    role: 'assistant',
    content: [
      ...(said.reasoning ? [{ type: 'thinking', thinking: said.reasoning }] : []),
      ...(said.text === '' ? [] : [text(said.text)]),
      ...(said.calls ?? []).map(({ id, name, args }) => ({
        type: 'toolCall',
        id,
        name,
        arguments: args,
      })),
    ],
    ...about,
    model: said.model,
    stopReason: said.stop,
    ...(said.usage ? { usage: clientUsage(said.usage) } : {}),
  }) as ChatMessage;

const endMessage = (said: SessionEntry & { type: 'run.end' }, about: object) => {
  if (said.status === 'ok' || said.status === 'running' || said.status === 'queued')
    return undefined;
  return {
    role: 'assistant',
    content: [],
    ...about,
    stopReason: said.status,
    ...(said.error ? { errorMessage: said.error.message } : {}),
  } as ChatMessage;
};
