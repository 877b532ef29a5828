/**
 * Anthropic's Messages API (version 2026-10-21) through its SDK, and servers that speak the same.
 *
 * What is sent is only what every model takes: no temperature, top_p or top_k (refused since that
 * version); `max_tokens` always, because it is mandatory; thinking in the form of the model's
 * generation.
 *
 * Idempotency-Key: Anthropic does not promise to read it; gateways in between may. A model call is
 * therefore of class `repeatable`, never `keyed`.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { Answer } from './answer.ts';
import {
  authentication,
  type Connection,
  type OpenConnection,
  openConnection,
} from './connection.ts';
import { argsObject, blocksFor, mendConversation, type Origin } from './conversation.ts';
import type {
  ModelMessage,
  ModelProvider,
  ModelRequest,
  ModelStop,
  StreamOptions,
  ThinkingLevel,
} from './model.ts';
import { type Fetch, streamAnswer, type Wire } from './stream.ts';

type Params = Anthropic.MessageCreateParamsStreaming;
type Block = Anthropic.ContentBlockParam;
type Event = Anthropic.RawMessageStreamEvent;

export const anthropicUrl = 'https://api.anthropic.com';

/**
 * When neither the request nor the model's entry says one: a bound that every current model keeps.
 */
const maxTokensDefault = 32_000;

export const createAnthropicProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, anthropicUrl);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const known = connection.models.find(({ id }) => id === request.model);
      const params = paramsOf(request, open, known?.maxTokens ?? maxTokensDefault);
      return streamAnswer(wireOf(open, params, options), options, open.failure, open.clock);
    },
  };
};

const wireOf = (
  connection: OpenConnection,
  params: Params,
  options: StreamOptions,
): Wire<Event> => {
  const kept: Kept = { blocks: new Map(), thought: false };
  return {
    async open(signal, fetch) {
      const client = await connect(connection, fetch);
      const headers = { 'Idempotency-Key': options.idempotencyKey };
      return client.messages.create(params, { signal, headers });
    },
    read: (event, answer) =>
      hear(event, answer, kept, { provider: connection.origin, model: params.model }),
  };
};

/**
 * A client per call: making one is cheap, connections are pooled below `fetch`, and `fetch` is the
 * call's.
 */
const connect = async (connection: OpenConnection, fetch: Fetch): Promise<Anthropic> => {
  const proof = authentication(connection, ['x-api-key', 'authorization'], 'ANTHROPIC_API_KEY');
  const { default: Sdk } = await import('@anthropic-ai/sdk');
  return new Sdk({
    apiKey: proof.apiKey,
    baseURL: connection.baseUrl,
    defaultHeaders: proof.headers,
    maxRetries: 0,
    timeout: 2 ** 31 - 1, // ours is the idle limit
    logLevel: 'off', // it would write whole events to the console
    openTelemetry: false,
    fetch,
  });
};

const paramsOf = (request: ModelRequest, connection: OpenConnection, most: number): Params => {
  const messages = mendConversation(request.messages);
  const params: Params = {
    model: request.model,
    max_tokens: Math.min(request.maxTokens ?? most, most),
    stream: true,
    messages: messagesOf(messages, { provider: connection.origin, model: request.model }),
  };
  if (request.system !== '') params.system = request.system;
  if (request.tools.length > 0) {
    params.tools = request.tools.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: { ...parameters, type: 'object' },
    }));
  }
  // marks the end of the history as cacheable: the next round of the loop reads it at a tenth of
  // the price
  if (connection.official) params.cache_control = { type: 'ephemeral' };
  return { ...params, ...thinkingOf(request, params.max_tokens, messages) };
};

type Generation = 'none' | 'budget' | 'adaptive';

/**
 * Which form of thinking a model takes: before 3.7 none, to 4.5 a budget, since 4.6 `adaptive` with
 * an effort (newer models refuse the budget). A name without a version gets none.
 * Ids write the version after the family (claude-sonnet-4-6) or before it
 * (claude-3-7-sonnet-20250219).
 */
export const thinkingGeneration = (model: string): Generation => {
  if (!/claude/i.test(model)) return 'none';
  const found = /(?:^|[^\d])(\d{1,2})(?:[-.](\d{1,2}))?(?=$|[^\d])/.exec(model);
  if (found === null) return 'none';
  const version = Number(found[1]) + Number(found[2] ?? 0) / 100;
  if (version >= 4.06) return 'adaptive';
  return version >= 3.07 ? 'budget' : 'none';
};

const budgets = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384, xhigh: 24_576 } as const;
// `xhigh` is not taken by every model of the generation
const efforts = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
} as const;

/** `off` sends nothing: some models refuse `disabled`. */
const thinkingOf = (
  request: ModelRequest,
  maxTokens: number,
  messages: readonly ModelMessage[],
): Pick<Params, 'thinking' | 'output_config'> => {
  const level: ThinkingLevel = request.thinking ?? 'off';
  const generation = thinkingGeneration(request.model);
  if (level === 'off' || generation === 'none') return {};
  if (generation === 'adaptive') {
    return {
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: efforts[level] },
    };
  }
  const budget = Math.min(budgets[level], maxTokens - 1);
  // with a budget, an answer to tool results must begin with the thinking that led to the calls
  if (budget < 1_024 || !carriesThinking(messages)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
};

const carriesThinking = (messages: readonly ModelMessage[]): boolean => {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  return messages
    .slice(asked + 1)
    .every((message) => message.role !== 'assistant' || message.continuation !== undefined);
};

/** The results of one assistant message stand together in one user message, as the API demands. */
const messagesOf = (
  messages: readonly ModelMessage[],
  origin: Origin,
): Anthropic.MessageParam[] => {
  const sent: Anthropic.MessageParam[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = blocksOf(message, origin);
    const last = sent.at(-1);
    if (message.role === 'tool' && last?.role === 'user' && Array.isArray(last.content)) {
      last.content.push(...blocks);
    } else sent.push({ role, content: blocks });
  }
  return sent;
};

const blocksOf = (message: ModelMessage, origin: Origin): Block[] => {
  if (message.role === 'tool') {
    const { callId, result, isError } = message;
    return [{ type: 'tool_result', tool_use_id: callId, content: result, is_error: isError }];
  }
  const text: Block[] = message.text.trim() === '' ? [] : [{ type: 'text', text: message.text }];
  if (message.role === 'user') return text;
  const own = blocksFor(message, origin);
  if (own) return [...own] as Block[];
  const calls = (message.calls ?? []).map(
    ({ id, name, args }): Block => ({ type: 'tool_use', id, name, input: argsObject(args) }),
  );
  return [...text, ...calls];
};

/** The answer's blocks as they must be sent back if the model thought. */
type Kept = { blocks: Map<number, Record<string, unknown>>; thought: boolean };

const hear = (event: Event, answer: Answer, kept: Kept, origin: Origin): void => {
  switch (event.type) {
    case 'message_start':
      hearUsage(event.message.usage, answer);
      break;
    case 'content_block_start':
      hearBlock(event, answer, kept);
      break;
    case 'content_block_delta':
      hearDelta(event, answer, kept);
      break;
    case 'message_delta':
      hearUsage(event.usage, answer);
      if (event.delta.stop_reason) answer.stop(stops[event.delta.stop_reason] ?? 'end');
      break;
    case 'message_stop':
      if (kept.thought) answer.continueWith({ ...origin, blocks: blocksKept(kept, answer) });
      answer.end();
      break;
    default: // other events and later ones say nothing that we need
  }
};

const stops: Readonly<Record<string, ModelStop>> = {
  tool_use: 'tools',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

const hearUsage = (
  usage: Anthropic.Usage | Anthropic.MessageDeltaUsage | undefined,
  answer: Answer,
): void => {
  if (!usage) return;
  const cached = (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
  const input = usage.input_tokens == null ? undefined : usage.input_tokens + cached;
  answer.usage(input, usage.output_tokens);
};

const hearBlock = (
  { index, content_block: block }: Anthropic.RawContentBlockStartEvent,
  answer: Answer,
  kept: Kept,
): void => {
  kept.blocks.set(index, { ...block });
  if (block.type === 'text') answer.text(block.text);
  if (block.type === 'thinking' || block.type === 'redacted_thinking') kept.thought = true;
  if (block.type !== 'tool_use') return;
  answer.openCall(index, block.id, block.name);
  // some compatible servers send the whole input at once
  if (Object.keys(block.input ?? {}).length > 0) {
    answer.wholeCallArgs(index, JSON.stringify(block.input));
  }
};

const hearDelta = (
  { index, delta }: Anthropic.RawContentBlockDeltaEvent,
  answer: Answer,
  kept: Kept,
): void => {
  const block = kept.blocks.get(index);
  switch (delta.type) {
    case 'text_delta':
      answer.text(delta.text);
      grow(block, 'text', delta.text);
      break;
    case 'thinking_delta':
      answer.reasoning(delta.thinking);
      grow(block, 'thinking', delta.thinking);
      break;
    case 'signature_delta':
      grow(block, 'signature', delta.signature);
      break;
    case 'input_json_delta':
      answer.callArgs(index, delta.partial_json);
      break;
    default:
  }
};

const grow = (block: Record<string, unknown> | undefined, field: string, delta: string): void => {
  if (!block) return;
  const before = block[field];
  block[field] = typeof before === 'string' ? before + delta : delta;
};

const sentBack = new Set<unknown>(['text', 'thinking', 'redacted_thinking', 'tool_use']);

const blocksKept = (kept: Kept, answer: Answer): Record<string, unknown>[] => {
  const args = new Map(answer.done().calls.map((call) => [call.id, argsObject(call.args)]));
  return [...kept.blocks.values()]
    .filter((block) => sentBack.has(block.type) && block.text !== '')
    .map((block) =>
      block.type === 'tool_use' ? { ...block, input: args.get(String(block.id)) ?? {} } : block,
    );
};
