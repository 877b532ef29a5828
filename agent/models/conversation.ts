/**
 * Repairs a conversation so that every provider accepts it. An aborted or moved run may leave calls
 * without results; a compaction may leave results without their call. Providers refuse both, and
 * then the session could never continue.
 *
 * Pure; the order is kept; correct messages are returned unchanged.
 */
import { createHash } from 'node:crypto';
import type { Continuation, ModelMessage, ToolCall } from './model.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;

/** The result that a model reads for a call without one. */
export const unfinishedCallText =
  'No result: the run ended before this tool finished. It may or may not have had its effect.';

/**
 * The conversation with exactly one result after each call. Results without a call and empty
 * messages are removed. For an `origin`, call ids are also unique.
 */
export const repairConversation = (
  messages: readonly ModelMessage[],
  origin?: Origin,
): ModelMessage[] => {
  const repaired: ModelMessage[] = [];
  const rename = origin === undefined ? undefined : ownIds(messages, origin);
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as ModelMessage;
    if (message.role === 'tool') continue; // taken below, with its call
    if (!saysSomething(message)) continue;
    if (message.role === 'user' || !message.calls?.length) {
      repaired.push(message);
      continue;
    }
    const results = resultsOf(message.calls, messages, at + 1);
    repaired.push(...(rename?.(message, message.calls, results) ?? [message, ...results]));
  }
  return repaired;
};

/**
 * Servers of open models restart their ids with each answer (`call_0`), and Anthropic refuses
 * duplicate ids. A message that is sent back in its provider's own form keeps its ids, which are
 * part of it. Other calls get a new id when theirs is in use.
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

/** The results before the next assistant message, one per call, in the order of the calls. */
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
 * A call id that Anthropic and OpenAI accept: letters, digits, _ and -, at most 64. After a
 * failover, calls of one provider are sent to another. Equal ids stay equal.
 */
export const portableId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id)
    ? id
    : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;

/** A call's arguments as an object, because some providers accept nothing else. */
export const argsObject = (args: unknown): Record<string, unknown> =>
  typeof args === 'object' && args !== null && !Array.isArray(args)
    ? (args as Record<string, unknown>)
    : { input: args };

/** The provider and model of a continuation; only they can read it. */
export type Origin = Pick<Continuation, 'provider' | 'model'>;

/** The blocks that replace an assistant message when the same provider and model wrote it. */
export const blocksFor = (
  { continuation }: Extract<ModelMessage, { role: 'assistant' }>,
  { provider, model }: Origin,
): readonly unknown[] | undefined =>
  continuation?.provider === provider && continuation.model === model
    ? continuation.blocks
    : undefined;
