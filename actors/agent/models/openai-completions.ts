/**
 * OpenAI's Chat Completions through its SDK: the protocol of every "OpenAI-compatible" server
 * (AL10).
 *
 * Such servers differ in what they refuse, so only what all of them take is sent; reasoning effort
 * goes only to models of OpenAI that reason. `max_tokens` is the name that compatible servers know;
 * OpenAI's own address wants `max_completion_tokens`.
 */
import type {
  ChatCompletionChunk,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ChatCompletionCreateParamsStreaming as Params } from 'openai/resources/chat/completions';
import { type Answer, MalformedEvent } from './answer.ts';
import { type Connection, type OpenConnection, openConnection } from './connection.ts';
import { mendConversation } from './conversation.ts';
import type { ModelMessage, ModelProvider, ModelRequest, ModelStop } from './model.ts';
import { connectOpenAi, effortOf, openAiUrl, reasons } from './openai-connect.ts';
import { streamAnswer } from './stream.ts';

/** Reasoning is no part of the protocol; these two fields are how servers send it. */
type Delta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string; reasoning?: string };

export const createOpenAiCompletionsProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, openAiUrl);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const params = paramsOf(request, open);
      const wire = {
        open: async (signal: AbortSignal, fetch: typeof globalThis.fetch) => {
          const client = await connectOpenAi(open, fetch);
          const headers = { 'Idempotency-Key': options.idempotencyKey };
          return client.chat.completions.create(params, { signal, headers });
        },
        read: hear,
      };
      return streamAnswer(wire, options, open.failure, open.clock);
    },
  };
};

const paramsOf = (request: ModelRequest, connection: OpenConnection): Params => {
  const system: ChatCompletionMessageParam[] =
    request.system === '' ? [] : [{ role: 'system', content: request.system }];
  const params: Params = {
    model: request.model,
    messages: [...system, ...mendConversation(request.messages).map(messageOf)],
    stream: true,
    stream_options: { include_usage: true },
  };
  if (request.maxTokens !== undefined) {
    params[connection.official ? 'max_completion_tokens' : 'max_tokens'] = request.maxTokens;
  }
  if (request.tools.length > 0) {
    params.tools = request.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters: { ...parameters } },
    }));
  }
  if (request.thinking && request.thinking !== 'off' && reasons(request.model)) {
    params.reasoning_effort = effortOf(request.thinking);
  }
  return params;
};

const messageOf = (message: ModelMessage): ChatCompletionMessageParam => {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') {
    const { callId, result, isError } = message;
    // the protocol has no flag for a failed call
    return { role: 'tool', tool_call_id: callId, content: isError ? `Error: ${result}` : result };
  }
  if (!message.calls?.length) return { role: 'assistant', content: message.text };
  return {
    role: 'assistant',
    content: message.text === '' ? null : message.text,
    tool_calls: message.calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args ?? {}) },
    })),
  };
};

const stops: Readonly<Record<string, ModelStop>> = {
  tool_calls: 'tools',
  function_call: 'tools',
  length: 'length',
  content_filter: 'refusal',
};

/** `finish_reason` is the end of the answer; a last chunk without choices brings the usage. */
const hear = (chunk: ChatCompletionChunk, answer: Answer): void => {
  answer.usage(chunk.usage?.prompt_tokens, chunk.usage?.completion_tokens);
  const choices: unknown = chunk.choices ?? [];
  if (!Array.isArray(choices)) throw new MalformedEvent('choices is no list');
  const choice = chunk.choices?.[0];
  if (choice === undefined) return;
  hearDelta(chunk.id, choice.delta ?? {}, answer);
  if (choice.finish_reason) {
    answer.stop(stops[choice.finish_reason] ?? 'end');
    answer.end();
  }
};

const hearDelta = (chunkId: string, delta: Delta, answer: Answer): void => {
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (reasoning != null) answer.reasoning(reasoning);
  if (delta.content != null) answer.text(delta.content);
  if (delta.refusal != null) answer.text(delta.refusal);
  for (const [place, call] of (delta.tool_calls ?? []).entries()) {
    const key = call.index ?? place;
    if (!answer.hasCall(key)) {
      // a few servers give no id; ours is unique with the answer's own
      answer.openCall(key, call.id || `${chunkId}_${key}`, call.function?.name as string);
    }
    if (call.function?.arguments) answer.callArgs(key, call.function.arguments);
  }
};
