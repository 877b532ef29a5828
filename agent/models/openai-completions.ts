/**
 * OpenAI's Chat Completions through its SDK: the protocol of "OpenAI-compatible" servers.
 *
 * Such servers refuse different parameters, so requests contain only common ones. Reasoning effort
 * is sent only to models that accept it. Compatible servers use `max_tokens`; OpenAI's own address
 * requires `max_completion_tokens`. openai-chunks.ts handles differences in the answers.
 */
import type {
  ChatCompletionChunk,
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ChatCompletionCreateParamsStreaming as Params } from 'openai/resources/chat/completions';
import type { ImagePart } from '../../protocols/content.ts';
import { BUILT_IN_PROVIDERS } from '../../protocols/models/model-providers.ts';
import { type Connection, modelOf, type OpenConnection, openConnection } from './connection.ts';
import { blocksFor, repairConversation, type Origin } from './conversation.ts';
import { dataUrl, imagesFor } from './images.ts';
import type { ModelInfo, ModelMessage, ModelProvider, ModelRequest } from './model.ts';
import { ChunkReader } from './openai-chunks.ts';
import { connectOpenAi } from './openai-connect.ts';
import { createOpenAiEmbedder } from './openai-embedder.ts';
import { streamAnswer } from './stream.ts';
import { openAiEffort } from './thinking.ts';

/** Approximate characters per token, for servers that do not report usage. */
const charactersPerToken = 4;

export const createOpenAiCompletionsProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, BUILT_IN_PROVIDERS.openai.url);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const params = paramsOf(request, open, connection.streamOptions ?? true);
      const origin = { provider: open.origin, model: request.model };
      const estimate = Math.ceil(JSON.stringify(params.messages).length / charactersPerToken);
      const reader = new ChunkReader(options.idempotencyKey, origin, estimate);
      const wire = {
        open: async (signal: AbortSignal, fetch: typeof globalThis.fetch) => {
          const client = await connectOpenAi(open, fetch);
          const headers = { 'Idempotency-Key': options.idempotencyKey };
          return client.chat.completions.create(params, { signal, headers });
        },
        read: (chunk: ChatCompletionChunk, answer: Parameters<ChunkReader['read']>[1]) =>
          reader.read(chunk, answer),
      };
      return streamAnswer(wire, options, open.failure, open.clock);
    },
    embedder: (settings) => createOpenAiEmbedder(open, settings),
  };
};

const paramsOf = (
  request: ModelRequest,
  connection: OpenConnection,
  streamOptions: boolean,
): Params => {
  const model = modelOf(connection, request.model);
  const origin = { provider: connection.origin, model: request.model };
  const system: ChatCompletionMessageParam[] =
    request.system === '' ? [] : [{ role: 'system', content: request.system }];
  const params: Params = {
    model: request.model,
    messages: [
      ...system,
      ...messagesOf(repairConversation(request.messages, origin), origin, model),
    ],
    stream: true,
  };
  if (streamOptions) params.stream_options = { include_usage: true };
  if (request.maxTokens !== undefined) {
    params[connection.official ? 'max_completion_tokens' : 'max_tokens'] = request.maxTokens;
  }
  if (request.tools.length > 0) {
    params.tools = request.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters: { ...parameters } },
    }));
  }
  // OpenAI accepts both together only in its Responses API
  const together = !connection.official || request.tools.length === 0;
  const effort = together ? openAiEffort(model, request.thinking) : undefined;
  if (effort !== undefined) params.reasoning_effort = effort;
  return params;
};

/**
 * Tool results are text in this protocol. Their images follow in a user message after the last
 * result of the same assistant message.
 */
const messagesOf = (
  messages: readonly ModelMessage[],
  origin: Origin,
  model: ModelInfo,
): ChatCompletionMessageParam[] => {
  const sent: ChatCompletionMessageParam[] = [];
  let waiting: ChatCompletionContentPart[] = [];
  const tellWaiting = () => {
    if (waiting.length > 0) sent.push({ role: 'user', content: waiting });
    waiting = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') {
      tellWaiting();
      sent.push(message.role === 'user' ? userOf(message, model) : assistantOf(message, origin));
      continue;
    }
    const { shown, text } = imagesFor(message, message.result, model);
    // the protocol has no flag for a failed call
    const content = message.isError ? `Error: ${text}` : text;
    sent.push({ role: 'tool', tool_call_id: message.callId, content });
    if (shown.length > 0) {
      waiting.push({ type: 'text', text: `Images from ${message.name}:` }, ...shown.map(imageOf));
    }
  }
  tellWaiting();
  return sent;
};

const userOf = (
  message: Extract<ModelMessage, { role: 'user' }>,
  model: ModelInfo,
): ChatCompletionMessageParam => {
  const { shown, text } = imagesFor(message, message.text, model);
  if (shown.length === 0) return { role: 'user', content: text };
  const words: ChatCompletionContentPart[] = text === '' ? [] : [{ type: 'text', text }];
  return { role: 'user', content: [...words, ...shown.map(imageOf)] };
};

const imageOf = (image: ImagePart): ChatCompletionContentPart => ({
  type: 'image_url',
  image_url: { url: dataUrl(image) },
});

const assistantOf = (
  message: Extract<ModelMessage, { role: 'assistant' }>,
  origin: Origin,
): ChatCompletionMessageParam => {
  if (!message.calls?.length) return { role: 'assistant', content: message.text };
  // fields that a server requires back beside the calls, such as its `reasoning_content`
  const [extra = {}] = (blocksFor(message, origin) ?? []) as Record<string, unknown>[];
  return {
    ...extra,
    role: 'assistant',
    content: message.text === '' ? null : message.text,
    tool_calls: message.calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args ?? {}) },
    })),
  };
};
