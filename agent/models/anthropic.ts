/**
 * Anthropic's Messages API (version 2026-10-21) through its SDK, and compatible servers.
 *
 * Requests contain only what every model accepts. They have no temperature, top_p or top_k, which
 * that version refuses. They always have `max_tokens`, which is mandatory. Thinking is requested in
 * the form of the model's generation.
 *
 * Idempotency-Key: Anthropic does not document it, but gateways on the way may use it. Since it may
 * be ignored, a repeated call may run twice: its class is `repeatable`, never `keyed`.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { ImagePart } from '../../protocols/content.ts';
import { BUILT_IN_PROVIDERS } from '../../protocols/models/model-providers.ts';
import type { Answer } from './answer.ts';
import {
  authentication,
  type Connection,
  modelOf,
  type OpenConnection,
  openConnection,
} from './connection.ts';
import {
  argsObject,
  blocksFor,
  repairConversation,
  type Origin,
  portableId,
} from './conversation.ts';
import { imagesFor } from './images.ts';
import type {
  ModelInfo,
  ModelMessage,
  ModelProvider,
  ModelRequest,
  ModelStop,
  StreamOptions,
  ThinkingLevel,
} from './model.ts';
import { type Fetch, streamAnswer, type Wire } from './stream.ts';
import { anthropicEffort, anthropicThinking, thinkingBudgets } from './thinking.ts';

type Params = Anthropic.MessageCreateParamsStreaming;
type Block = Anthropic.ContentBlockParam;
type Event = Anthropic.RawMessageStreamEvent;

/**
 * For a model that no list names, if the request has no limit either; every current model accepts
 * it.
 */
const maxTokensDefault = 32_000;

export const createAnthropicProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, BUILT_IN_PROVIDERS.anthropic.url);
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
  const kept: Kept = { blocks: new Map(), usedThinking: false };
  return {
    async open(signal, fetch) {
      const client = await connect(connection, fetch);
      const headers = { 'Idempotency-Key': options.idempotencyKey };
      return client.messages.create(params, { signal, headers });
    },
    read: (event, answer) =>
      readEvent(event, answer, kept, { provider: connection.origin, model: params.model }),
  };
};

/**
 * One client per call: a client is cheap, connections are pooled below `fetch`, and each call has
 * its own `fetch`.
 */
const connect = async (connection: OpenConnection, fetch: Fetch): Promise<Anthropic> => {
  const credentials = authentication(
    connection,
    ['x-api-key', 'authorization'],
    'ANTHROPIC_API_KEY',
  );
  const { default: Sdk } = await import('@anthropic-ai/sdk');
  return new Sdk({
    apiKey: credentials.apiKey,
    baseURL: connection.baseUrl,
    defaultHeaders: credentials.headers,
    maxRetries: 0,
    timeout: 2 ** 31 - 1, // off: stream.ts has a limit for idle streams
    logLevel: 'off', // it would write whole events to the console
    openTelemetry: false,
    fetch,
  });
};

const paramsOf = (
  request: ModelRequest,
  connection: OpenConnection,
  maxTokensLimit: number,
): Params => {
  const model = modelOf(connection, request.model);
  const origin = { provider: connection.origin, model: request.model };
  const messages = repairConversation(request.messages, origin);
  const params: Params = {
    model: request.model,
    max_tokens: Math.min(request.maxTokens ?? maxTokensLimit, maxTokensLimit),
    stream: true,
    messages: messagesOf(messages, origin, model),
  };
  if (request.system !== '') params.system = request.system;
  if (request.tools.length > 0) {
    params.tools = request.tools.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: { ...parameters, type: 'object' },
    }));
  }
  // makes the prefix up to here cacheable: the next request reads it at a tenth of the price
  if (connection.official) params.cache_control = { type: 'ephemeral' };
  return { ...params, ...thinkingOf(request, model, params.max_tokens, messages, origin) };
};

/** With `off` the parameter is absent: some models refuse `thinking: { type: 'disabled' }`. */
const thinkingOf = (
  request: ModelRequest,
  model: ModelInfo,
  maxTokens: number,
  messages: readonly ModelMessage[],
  origin: Origin,
): Pick<Params, 'thinking' | 'output_config'> => {
  const level: ThinkingLevel = request.thinking ?? 'off';
  const form = anthropicThinking(model);
  if (level === 'off' || form === 'none') return {};
  if (form === 'adaptive') {
    return {
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: anthropicEffort(level) },
    };
  }
  const budget = Math.min(thinkingBudgets[level], maxTokens - 1);
  // With a budget, every answer since the last user message must begin with its thinking; if one
  // lacks it, thinking is off.
  if (budget < 1_024 || !carriesThinking(messages, origin)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
};

const carriesThinking = (messages: readonly ModelMessage[], origin: Origin): boolean => {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  return messages
    .slice(asked + 1)
    .every((message) => message.role !== 'assistant' || blocksFor(message, origin) !== undefined);
};

/** The API requires all tool results of one answer in one user message. */
const messagesOf = (
  messages: readonly ModelMessage[],
  origin: Origin,
  model: ModelInfo,
): Anthropic.MessageParam[] => {
  const sent: Anthropic.MessageParam[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const blocks = blocksOf(message, origin, model);
    const last = sent.at(-1);
    if (message.role === 'tool' && last?.role === 'user' && Array.isArray(last.content)) {
      last.content.push(...blocks);
    } else sent.push({ role, content: blocks });
  }
  return sent;
};

const blocksOf = (message: ModelMessage, origin: Origin, model: ModelInfo): Block[] => {
  if (message.role === 'tool') {
    const { callId, isError } = message;
    const { shown, text } = imagesFor(message, message.result, model);
    const content =
      shown.length === 0 ? text : [...textOf(text), ...shown.map((image) => imageOf(image))];
    return [{ type: 'tool_result', tool_use_id: portableId(callId), content, is_error: isError }];
  }
  if (message.role === 'user') {
    const { shown, text } = imagesFor(message, message.text, model);
    return [...shown.map((image) => imageOf(image)), ...textOf(text)];
  }
  const own = blocksFor(message, origin);
  if (own) return [...own] as Block[];
  const calls = (message.calls ?? []).map(
    ({ id, name, args }): Block => ({
      type: 'tool_use',
      id: portableId(id),
      name,
      input: argsObject(args),
    }),
  );
  return [...textOf(message.text), ...calls];
};

/** The API refuses empty text blocks. */
const textOf = (text: string): Anthropic.TextBlockParam[] =>
  text.trim() === '' ? [] : [{ type: 'text', text }];

const imageOf = ({ mimeType, data }: ImagePart): Anthropic.ImageBlockParam => ({
  type: 'image',
  source: { type: 'base64', media_type: mimeType, data },
});

/** The answer's blocks, which must be sent back unchanged when the model used thinking. */
type Kept = { blocks: Map<number, Record<string, unknown>>; usedThinking: boolean };

const readEvent = (event: Event, answer: Answer, kept: Kept, origin: Origin): void => {
  switch (event.type) {
    case 'message_start':
      readUsage(event.message.usage, answer);
      break;
    case 'content_block_start':
      readBlock(event, answer, kept);
      break;
    case 'content_block_delta':
      readDelta(event, answer, kept);
      break;
    case 'message_delta':
      readUsage(event.usage, answer);
      if (event.delta.stop_reason) answer.stop(stops[event.delta.stop_reason] ?? 'end');
      break;
    case 'message_stop':
      if (kept.usedThinking) answer.continueWith({ ...origin, blocks: blocksKept(kept, answer) });
      answer.end();
      break;
    default: // unknown and irrelevant events are ignored
  }
};

const stops: Readonly<Record<string, ModelStop>> = {
  tool_use: 'tools',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

const readUsage = (
  usage: Anthropic.Usage | Anthropic.MessageDeltaUsage | undefined,
  answer: Answer,
): void => {
  if (!usage) return;
  // `input_tokens` excludes cache reads and writes
  const written = usage.cache_creation_input_tokens ?? 0;
  const read = usage.cache_read_input_tokens ?? 0;
  const { input_tokens: fresh, output_tokens: outputTokens } = usage;
  answer.usage({
    outputTokens,
    ...(fresh == null
      ? {}
      : {
          inputTokens: fresh + written + read,
          cachedInputTokens: read,
          cacheWriteTokens: written,
        }),
  });
};

const readBlock = (
  { index, content_block: block }: Anthropic.RawContentBlockStartEvent,
  answer: Answer,
  kept: Kept,
): void => {
  kept.blocks.set(index, { ...block });
  if (block.type === 'text') answer.text(block.text);
  if (block.type === 'thinking' || block.type === 'redacted_thinking') kept.usedThinking = true;
  if (block.type !== 'tool_use') return;
  answer.openCall(index, block.id, block.name);
  // some compatible servers send the whole input at once
  if (Object.keys(block.input ?? {}).length > 0) {
    answer.wholeCallArgs(index, JSON.stringify(block.input));
  }
};

const readDelta = (
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
