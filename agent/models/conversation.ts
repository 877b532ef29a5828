/**
 * Mends a conversation so that every provider accepts it. A run that was aborted or moved to
 * another worker may leave calls without results; compaction may leave results without their call.
 * Providers refuse both, and a refused history would make the session useless permanently.
 *
 * Pure; order is kept; messages that are right are returned as they are.
 */
import { createHash } from 'node:crypto';
import type { Continuation, ModelMessage, ToolCall } from './model.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;

/** What a model reads about a call that was never answered. */
export const unfinishedCallText =
  'No result: the run ended before this tool finished. It may or may not have had its effect.';

/**
 * The conversation with each call followed by exactly one result, results without a call dropped,
 * and messages that say nothing dropped; for an `origin` also each call under an id of its own.
 */
export const mendConversation = (
  messages: readonly ModelMessage[],
  origin?: Origin,
): ModelMessage[] => {
  const mended: ModelMessage[] = [];
  const rename = origin === undefined ? undefined : ownIds(messages, origin);
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as ModelMessage;
    if (message.role === 'tool') continue; // taken below, with its call
    if (!saysSomething(message)) continue;
    if (message.role === 'user' || !message.calls?.length) {
      mended.push(message);
      continue;
    }
    const results = resultsOf(message.calls, messages, at + 1);
    mended.push(...(rename?.(message, message.calls, results) ?? [message, ...results]));
  }
  return mended;
};

/**
 * Servers of open models begin their ids anew with each answer (`call_0`), and Anthropic refuses an
 * id that another call had. What goes back as its provider wrote it has its ids in it, and keeps
 * them; other calls get another id where theirs is taken.
 */
const ownIds = (messages: readonly ModelMessage[], origin: Origin) => {
  const isOwn = (message: AssistantMessage) => blocksFor(message, origin) !== undefined;
  const taken = new Map<string, number>();
  for (const message of messages) {
    if (message.role !== 'assistant' || !isOwn(message)) continue;
    for (const { id } of message.calls ?? []) taken.set(id, 1);
  }
  const freeId = (id: string): string => {
    const times = taken.get(id) ?? 0;
    taken.set(id, times + 1);
    return times === 0 ? id : portableId(`${id}#${times}`);
  };
  return (
    message: AssistantMessage,
    calls: readonly ToolCall[],
    results: readonly ToolMessage[],
  ): ModelMessage[] => {
    if (isOwn(message)) return [message, ...results];
    const renamed = calls.map((call) => ({ ...call, id: freeId(call.id) }));
    if (renamed.every(({ id }, n) => id === calls[n]?.id)) return [message, ...results];
    return [
      { ...message, calls: renamed },
      ...results.map((result, n) => ({ ...result, callId: renamed[n]?.id ?? result.callId })),
    ];
  };
};

const saysSomething = (message: Exclude<ModelMessage, ToolMessage>): boolean =>
  message.text.trim() !== '' ||
  (message.role === 'assistant' ? (message.calls?.length ?? 0) : (message.images?.length ?? 0)) > 0;

/**
 * The results that stand before the next assistant message, one per call, in the order of the
 * calls.
 */
const resultsOf = (
  calls: readonly ToolCall[],
  messages: readonly ModelMessage[],
  from: number,
): ToolMessage[] => {
  const found = new Map<string, ToolMessage>();
  for (let at = from; at < messages.length; at++) {
    const message = messages[at] as ModelMessage;
    if (message.role === 'assistant') break;
    if (message.role === 'tool' && !found.has(message.callId)) found.set(message.callId, message);
  }
  return calls.map((call) => found.get(call.id) ?? unfinished(call));
};

const unfinished = (call: ToolCall): ToolMessage => ({
  role: 'tool',
  callId: call.id,
  name: call.name,
  result: unfinishedCallText,
  isError: true,
});

/**
 * A call's id as Anthropic and OpenAI take it: letters, digits, _ and -, at most 64. Calls that one
 * provider made are shown to another after a failover; the same id always becomes the same.
 */
export const portableId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id)
    ? id
    : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;

/** A call's arguments as an object, for the providers that accept nothing else. */
export const argsObject = (args: unknown): Record<string, unknown> =>
  typeof args === 'object' && args !== null && !Array.isArray(args)
    ? (args as Record<string, unknown>)
    : { input: args };

/** Who a continuation is for: nobody else can read it. */
export type Origin = Pick<Continuation, 'provider' | 'model'>;

/** The blocks to send back in place of an assistant message, if that very model wrote them. */
export const blocksFor = (
  { continuation }: Extract<ModelMessage, { role: 'assistant' }>,
  { provider, model }: Origin,
): readonly unknown[] | undefined =>
  continuation?.provider === provider && continuation.model === model
    ? continuation.blocks
    : undefined;
