/**
 * Translates the events of a session of OpenClaw into transcript entries. Pure.
 *
 * Invariants: the same events give the same entries, so an interrupted import can continue. Every
 * tool call has a result. A compaction keeps the number of an entry of this transcript.
 */
import {
  IMAGE_BYTES_MAX,
  IMAGE_TYPES,
  IMAGES_MAX,
  type ImagePart,
} from '../../protocols/content.ts';
import type { SessionFacts } from '../../protocols/session-import.ts';
import type { SessionEntry, ToolCall } from '../../protocols/session.ts';
import { activePath } from './active-path.ts';
import { type Fields, fieldsOf, type FoundSession, listOf, numberOf, textOf } from './found.ts';

/** An actor receives at most 4 MiB at once. */
const ENTRY_CHARACTERS_MAX = 3 * 2 ** 20;
const PREVIEW_CHARACTERS = 120;

export type Transcript = {
  readonly facts: SessionFacts;
  readonly entries: readonly SessionEntry[];
  /** messages, by what happened to them */
  readonly messages: number;
  readonly counts: {
    /** events on branches that are not the active one */
    readonly branches: number;
    /** settings and internal messages, which no model here needs */
    readonly internal: number;
    readonly images: number;
  };
  readonly hash: string;
};

/** @throws Error that names the damaged place, or an entry that is too large */
export function transcriptOf(session: FoundSession): Transcript {
  const { events, hash } = session.read();
  const path = activePath(events);
  const writer = new Writer(session.sessionId);
  for (const event of path.events) writer.add(event);
  const entries = writer.end();
  const large = entries.find((entry) => JSON.stringify(entry).length > ENTRY_CHARACTERS_MAX);
  if (large) throw new Error(`${session.place} has a message over 3 MiB`);
  const { messages, internal, images } = writer;
  return {
    facts: factsOf(session, events, writer),
    entries,
    messages,
    counts: { branches: path.skipped, internal, images },
    hash,
  };
}

class Writer {
  messages = 0;
  internal = 0;
  images = 0;
  usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  model: string | undefined;
  title: string | undefined;
  last = '';
  #entries: SessionEntry[] = [];
  /** number of the first entry of an event, from 1 */
  #numbers = new Map<string, number>();
  #runId = '';
  #at = 0;
  /** calls without a result, by their id */
  #open = new Map<string, string>();
  readonly #sessionId: string;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  add(event: Fields): void {
    const id = textOf(event['id']) ?? `line-${this.#entries.length}`;
    this.#at = timeOf(event) ?? this.#at;
    this.#numbers.set(id, this.#entries.length + 1);
    const message = fieldsOf(event['message']);
    switch (event['type']) {
      case 'message':
        return this.#message(id, message);
      case 'compaction':
        return this.#compaction(event);
      case 'reset':
        return this.#reset(textOf(event['reason']));
      case 'branch_summary':
        return this.#user(id, textOf(event['summary']) ?? '', []);
      case 'custom_message':
        if (event['display'] === false) break;
        return this.#user(id, textIn(event['content']), []);
    }
    this.internal++;
  }

  end(): readonly SessionEntry[] {
    this.#endRun();
    return this.#entries;
  }

  #message(id: string, message: Fields): void {
    const content = message['content'];
    switch (message['role']) {
      case 'user':
        return this.#user(id, textIn(content), this.#imagesIn(content));
      case 'assistant':
        return this.#assistant(id, message);
      case 'toolResult':
        return this.#tool(message);
    }
    this.internal++;
  }

  #user(id: string, text: string, images: readonly ImagePart[]): void {
    if (text === '' && images.length === 0) return void this.internal++;
    this.#endRun();
    this.#runId = `openclaw-${id}`;
    this.title ??= preview(text);
    this.#push({
      type: 'user',
      runId: this.#runId,
      text,
      ...(images.length > 0 ? { images } : {}),
      at: this.#at,
    });
    this.#said(text);
  }

  #assistant(id: string, message: Fields): void {
    if (this.#runId === '') this.#runId = `openclaw-${id}`;
    this.#answerOpenCalls();
    const content = message['content'];
    const text = textIn(content);
    const reasoning = partsOf(content, 'thinking').map(({ thinking }) => textOf(thinking) ?? '');
    const calls = partsOf(content, 'toolCall').flatMap(callOf);
    for (const { id: callId, name } of calls) this.#open.set(callId, name);
    const model = [message['provider'], message['model']].filter(textOf).join('/') || 'openclaw';
    const usage = usageOf(fieldsOf(message['usage']));
    this.usage.inputTokens += usage.inputTokens;
    this.usage.outputTokens += usage.outputTokens;
    this.usage.costUsd += usage.costUsd ?? 0;
    this.model = model;
    this.#push({
      type: 'assistant',
      runId: this.#runId,
      text,
      ...(calls.length > 0 ? { calls } : {}),
      ...(reasoning.join('') === '' ? {} : { reasoning: reasoning.join('\n') }),
      model,
      usage,
      stop: calls.length > 0 ? 'tools' : 'end',
      at: this.#at,
    });
    if (text !== '') this.#said(text);
  }

  #tool(message: Fields): void {
    const callId = textOf(message['toolCallId']) ?? '';
    const name = this.#open.get(callId);
    // Its call is on another branch, or was compacted.
    if (name === undefined) return void this.internal++;
    this.#open.delete(callId);
    const images = this.#imagesIn(message['content']);
    this.messages++;
    this.#push({
      type: 'tool',
      runId: this.#runId,
      callId,
      name,
      result: textIn(message['content']),
      isError: message['isError'] === true,
      ...(images.length > 0 ? { images } : {}),
      at: this.#at,
    });
  }

  #compaction(event: Fields): void {
    this.#endRun();
    const kept = this.#numbers.get(textOf(event['firstKeptEntryId']) ?? '');
    this.#push({
      type: 'compaction',
      runId: '',
      summary: textOf(event['summary']) ?? '',
      keptFrom: kept ?? Math.max(1, this.#entries.length),
      tokensBefore: Math.max(0, Math.trunc(numberOf(event['tokensBefore']) ?? 0)),
      tokensAfter: 0,
      at: this.#at,
    });
  }

  /** Models see nothing before it. OpenClaw keeps the id of the session. */
  #reset(reason: string | undefined): void {
    this.#endRun();
    const sessionId = this.#sessionId;
    const why = reason === undefined || reason === 'closed' ? {} : { reason };
    this.#push({ type: 'reset', runId: '', sessionId, ...why, at: this.#at });
  }

  #endRun(): void {
    if (this.#runId === '') return;
    this.#answerOpenCalls();
    this.#push({ type: 'run.end', runId: this.#runId, status: 'ok', at: this.#at });
    this.#runId = '';
  }

  /** Providers refuse a call without a result. */
  #answerOpenCalls(): void {
    for (const [callId, name] of this.#open) {
      const result = 'OpenClaw has no result of this call.';
      const { runId, at } = { runId: this.#runId, at: this.#at };
      this.#push({ type: 'tool', runId, callId, name, result, isError: true, at });
    }
    this.#open.clear();
  }

  #imagesIn(content: unknown): readonly ImagePart[] {
    const found = partsOf(content, 'image');
    const kept = found.flatMap(imageOf).slice(0, IMAGES_MAX);
    this.images += found.length - kept.length;
    return kept;
  }

  #said(text: string): void {
    this.messages++;
    this.last = preview(text);
  }

  #push(entry: SessionEntry): void {
    this.#entries.push(entry);
  }
}

const partsOf = (content: unknown, type: string): readonly Fields[] =>
  listOf(content)
    .map(fieldsOf)
    .filter((part) => part['type'] === type);

const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsOf(content, 'text')
        .map(({ text }) => textOf(text) ?? '')
        .join('\n');

function callOf({ id, name, arguments: args }: Fields): readonly ToolCall[] {
  const [callId, tool] = [textOf(id), textOf(name)];
  return callId && tool ? [{ id: callId, name: tool, args: args ?? {} }] : [];
}

function imageOf({ mimeType, data }: Fields): readonly ImagePart[] {
  const type = IMAGE_TYPES.find((one) => one === mimeType);
  const isSmall = typeof data === 'string' && (data.length * 3) / 4 <= IMAGE_BYTES_MAX;
  return type && isSmall ? [{ mimeType: type, data }] : [];
}

function usageOf({ input, output, cacheRead, cacheWrite, cost }: Fields) {
  const count = (value: unknown) => Math.max(0, Math.trunc(numberOf(value) ?? 0));
  const total = numberOf(fieldsOf(cost)['total']);
  return {
    inputTokens: count(input) + count(cacheRead) + count(cacheWrite),
    outputTokens: count(output),
    ...(total === undefined ? {} : { costUsd: total }),
  };
}

/** Epoch milliseconds; events have ISO 8601, messages milliseconds. */
function timeOf({ timestamp }: Fields): number | undefined {
  const at = typeof timestamp === 'string' ? Date.parse(timestamp) : numberOf(timestamp);
  return at === undefined || Number.isNaN(at) ? undefined : at;
}

const preview = (text: string): string =>
  text.trim().replaceAll(/\s+/g, ' ').slice(0, PREVIEW_CHARACTERS);

const THINKING = new Set(['off', 'minimal', 'low', 'medium', 'high', 'xhigh']);

function factsOf(
  { sessionId, entry, key, isNewest }: FoundSession,
  events: readonly Fields[],
  { usage, model, title, last }: Writer,
): SessionFacts {
  const times = events.flatMap((event) => timeOf(event) ?? []);
  const updatedAt = times.at(-1) ?? numberOf(entry['updatedAt']) ?? 0;
  const thinking = textOf(entry['thinkingLevel']);
  const label = textOf(entry['label']);
  const category = textOf(entry['category']);
  const archivedLabel = `${key} until ${new Date(updatedAt).toISOString().slice(0, 10)}`;
  const shown = isNewest ? label : archivedLabel;
  return {
    sessionId,
    createdAt: times[0] ?? updatedAt,
    updatedAt,
    usage,
    ...(model === undefined ? {} : { model }),
    ...(title ? { title } : {}),
    ...(last ? { lastMessage: last } : {}),
    ...(shown === undefined ? {} : { label: shown.slice(0, PREVIEW_CHARACTERS) }),
    ...(thinking && THINKING.has(thinking) ? { thinking } : {}),
    ...(category === undefined ? {} : { category }),
    ...(isNewest && entry['archivedAt'] === undefined ? {} : { archived: true }),
    ...(entry['pinnedAt'] === undefined || !isNewest ? {} : { pinned: true }),
  };
}
