/**
 * Conversation: builds the messages of a model request from a session's transcript. Pure.
 *
 * It uses the entries after the last reset. After a compaction it uses the summary and the entries
 * from `keptFrom` on. Each message appears once, calls and results are repaired for all providers,
 * and text from outside is marked. Old tool results are cut before a request is refused as too
 * long.
 *
 * Invariants: the newest user message is complete; a call and its result stay together; the order
 * is kept; the same entries give the same messages.
 */
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { MessageOrigin, SessionEntry } from '../../protocols/session.ts';
import type { TranscriptEntry } from '../../runtime/index.ts';
import { repairConversation } from '../models/conversation.ts';
import type { Continuation, ModelMessage } from '../models/model.ts';
import { fromAgent, marked } from './envelope.ts';
import { pruned } from './pruning.ts';
import { systemTokensOf } from './tokens.ts';

export type ConversationOptions = {
  /** context window of the model, tokens */
  readonly window: number;
  /** part of the window reserved for the answer and the tool descriptions, tokens */
  readonly reserveTokens: number;
  /** text from hooks, placed before the message that started this run */
  readonly prepend?: { readonly runId: string; readonly text: string };
};

export type Conversation = {
  /** system prompt of the last `prompt` entry; '' without one */
  readonly system: string;
  readonly messages: ModelMessage[];
  /** estimate for the system prompt and all messages */
  readonly tokens: number;
};

/**
 * @param entries in order of position; gaps are allowed. They must include the last `prompt` entry,
 *   even if it is older than the other entries.
 * @throws TroupeError INVALID_ARGUMENT, details.reason `context_length`, when it cannot fit
 */
export function conversationFrom(
  entries: readonly TranscriptEntry[],
  { window, reserveTokens, prepend }: ConversationOptions,
): Conversation {
  const { system, summary, entries: shown } = shownOf(entries);
  const all = repairConversation([
    ...(summary === undefined ? [] : [summaryMessage(summary)]),
    ...shown.flatMap(({ entry }) => messageOf(entry, prepend)),
  ]);
  const systemTokens = systemTokensOf(system);
  const room = window - reserveTokens - systemTokens;
  const { messages, tokens: said } = pruned(all, room);
  const tokens = systemTokens + said;
  if (said > room) throw tooLong(tokens, window, reserveTokens);
  return { system, messages, tokens };
}

/** The part of a transcript that is sent to models. */
export type Shown = {
  readonly system: string;
  readonly summary?: string;
  readonly entries: readonly ShownEntry[];
};
export type ShownEntry = { readonly position: number; readonly entry: SessionEntry };

/** The entries after the last reset, from the last compaction's `keptFrom` on. */
export function shownOf(entries: readonly TranscriptEntry[]): Shown {
  let system = '';
  let summary: string | undefined;
  let shown: ShownEntry[] = [];
  for (const one of entries as unknown as readonly ShownEntry[]) {
    const { entry } = one;
    if (entry.type === 'reset') {
      [system, summary, shown] = ['', undefined, []];
    } else if (entry.type === 'prompt') {
      system = entry.system;
    } else if (entry.type === 'compaction') {
      summary = entry.summary;
      shown = shown.filter(({ position }) => position >= entry.keptFrom);
    } else {
      shown.push(one);
    }
  }
  return { system, ...defined({ summary }), entries: shown };
}

/** Starts the message that contains the summary of the removed messages. */
const SUMMARY_MARK = '<summary>\nThis conversation was longer. What came before, summed up:\n\n';

export const summaryMessage = (summary: string): ModelMessage => ({
  role: 'user',
  text: `${SUMMARY_MARK}${summary}\n</summary>`,
});

const ofAgent = ({ sessionKey }: MessageOrigin, text: string): string =>
  text.trim() === '' ? text : fromAgent(sessionKey, text);

/** Empty for entries that are not messages. */
export function messageOf(
  entry: SessionEntry,
  prepend?: ConversationOptions['prepend'],
): ModelMessage[] {
  switch (entry.type) {
    case 'user': {
      const isFirst = prepend?.runId === entry.runId && entry.of === undefined;
      const said = entry.origin?.kind === 'agent' ? ofAgent(entry.origin, entry.text) : entry.text;
      const text = isFirst ? `${prepend.text}\n\n${said}` : said;
      const images = entry.images?.length ? { images: entry.images } : {};
      return [{ role: 'user', text: text.trim() === '' ? '(an image)' : text, ...images }];
    }
    case 'assistant': {
      const { text, calls, continuation } = entry;
      // the call that sent it contains it, and no message may be between a call and its result
      if (entry.of !== undefined) return [];
      return [
        {
          role: 'assistant',
          text,
          ...(calls?.length ? { calls } : {}),
          // written by one of our adapters and read only by the same one
          ...(continuation ? { continuation: continuation as Continuation } : {}),
        },
      ];
    }
    case 'tool': {
      const { callId, name, isError, images } = entry;
      const result = marked(name, entry.result);
      return [
        { role: 'tool', callId, name, result, isError, ...(images?.length ? { images } : {}) },
      ];
    }
    default:
      return [];
  }
}

const tooLong = (tokens: number, window: number, reserveTokens: number): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `the conversation has about ${tokens} tokens; the context window of the model has ${window}, of which ${reserveTokens} ` +
      'are reserved for the answer: compact it (/compact), start a new one (/new), or use a model with a larger window',
    { details: { reason: 'context_length', tokens, window } },
  );
