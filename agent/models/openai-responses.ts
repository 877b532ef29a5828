/**
 * OpenAI's Responses API through its SDK.
 *
 * OpenAI stores nothing (`store: false`). Reasoning is returned encrypted and sent back with the
 * message as its continuation. Reasoning parameters are sent only to reasoning models, because
 * others refuse them. Sampling parameters are never sent.
 *
 * Idempotency-Key: OpenAI does not document it, but gateways on the way may use it. A model call is
 * therefore of class `repeatable`, never `keyed`.
 */
import type { Responses } from 'openai/resources/responses/responses';
import type { ImagePart } from '../../protocols/content.ts';
import { BUILT_IN_PROVIDERS } from '../../protocols/models/model-providers.ts';
import type { Answer } from './answer.ts';
import { type Connection, modelOf, type OpenConnection, openConnection } from './connection.ts';
import { blocksFor, repairConversation, type Origin, portableId } from './conversation.ts';
import { ReportedError } from './failure.ts';
import { dataUrl, imagesFor } from './images.ts';
import type { ModelInfo, ModelMessage, ModelProvider, ModelRequest } from './model.ts';
import { connectOpenAi } from './openai-connect.ts';
import { createOpenAiEmbedder } from './openai-embedder.ts';
import { streamAnswer } from './stream.ts';
import { openAiEffort } from './thinking.ts';

type Params = Responses.ResponseCreateParamsStreaming;
type Item = Responses.ResponseInputItem;
type Event = Responses.ResponseStreamEvent;
export const createOpenAiResponsesProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, BUILT_IN_PROVIDERS.openai.url);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const params = paramsOf(request, open);
      const origin = { provider: open.origin, model: request.model };
      const wire = {
        open: async (signal: AbortSignal, fetch: typeof globalThis.fetch) => {
          const client = await connectOpenAi(open, fetch);
          const headers = { 'Idempotency-Key': options.idempotencyKey };
          return client.responses.create(params, { signal, headers });
        },
        read: (event: Event, answer: Answer) => readEvent(event, answer, origin),
      };
      return streamAnswer(wire, options, open.failure, open.clock);
    },
    embedder: (settings) => createOpenAiEmbedder(open, settings),
  };
};

const paramsOf = (request: ModelRequest, connection: OpenConnection): Params => {
  const origin = { provider: connection.origin, model: request.model };
  const model = modelOf(connection, request.model);
  const params: Params = {
    model: request.model,
    input: repairConversation(request.messages, origin).flatMap((message) =>
      itemsOf(message, origin, model),
    ),
    stream: true,
    store: false,
  };
  if (request.system !== '') params.instructions = request.system;
  if (request.maxTokens !== undefined) params.max_output_tokens = request.maxTokens;
  if (request.tools.length > 0) {
    params.tools = request.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      parameters: { ...parameters },
      strict: false, // strict mode takes only a part of JSON schema
    }));
  }
  const effort = openAiEffort(model, request.thinking);
  if (effort !== undefined) {
    params.reasoning = { effort, summary: 'auto' };
    params.include = ['reasoning.encrypted_content'];
  }
  return params;
};

const itemsOf = (message: ModelMessage, origin: Origin, model: ModelInfo): Item[] => {
  if (message.role === 'user') {
    const { shown, text } = imagesFor(message, message.text, model);
    return [{ role: 'user', content: shown.length === 0 ? text : contentOf(text, shown) }];
  }
  if (message.role === 'tool') {
    const { shown, text } = imagesFor(message, message.result, model);
    // the protocol has no flag for a failed call
    const said = message.isError ? `Error: ${text}` : text;
    const output = shown.length === 0 ? said : contentOf(said, shown);
    return [{ type: 'function_call_output', call_id: portableId(message.callId), output }];
  }
  const own = blocksFor(message, origin);
  if (own) return [...own] as Item[];
  const text: Item[] = message.text === '' ? [] : [{ role: 'assistant', content: message.text }];
  const calls = (message.calls ?? []).map(
    ({ id, name, args }): Item => ({
      type: 'function_call',
      call_id: portableId(id),
      name,
      arguments: JSON.stringify(args ?? {}),
    }),
  );
  return [...text, ...calls];
};

const contentOf = (
  text: string,
  images: readonly ImagePart[],
): (Responses.ResponseInputText | Responses.ResponseInputImage)[] => [
  ...(text === '' ? [] : [{ type: 'input_text' as const, text }]),
  ...images.map((image) => ({
    type: 'input_image' as const,
    image_url: dataUrl(image),
    detail: 'auto' as const,
  })),
];

const readEvent = (event: Event, answer: Answer, origin: Origin): void => {
  switch (event.type) {
    case 'response.output_text.delta':
      answer.text(event.delta);
      break;
    case 'response.refusal.delta':
      answer.stop('refusal');
      answer.text(event.delta);
      break;
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      answer.reasoning(event.delta);
      break;
    case 'response.output_item.added':
      if (event.item.type === 'function_call') {
        answer.openCall(event.output_index, event.item.call_id, event.item.name);
      }
      break;
    case 'response.function_call_arguments.delta':
      answer.callArgs(event.output_index, event.delta);
      break;
    case 'response.function_call_arguments.done':
      answer.wholeCallArgs(event.output_index, event.arguments);
      break;
    case 'response.completed':
    case 'response.incomplete':
      readEnd(event.response, answer, origin);
      break;
    case 'response.failed': {
      const error = event.response.error;
      throw new ReportedError(
        error?.code ?? 'server_error',
        error?.message ?? 'the response failed',
      );
    }
    case 'error':
      throw new ReportedError(event.code ?? 'server_error', event.message);
    default: // other events and later ones say nothing that we need
  }
};

const readEnd = (response: Responses.Response, answer: Answer, origin: Origin): void => {
  answer.usage({
    inputTokens: response.usage?.input_tokens,
    outputTokens: response.usage?.output_tokens,
    cachedInputTokens: response.usage?.input_tokens_details?.cached_tokens,
  });
  const cut = response.incomplete_details?.reason;
  if (response.status === 'incomplete')
    answer.stop(cut === 'content_filter' ? 'refusal' : 'length');
  const items = response.output ?? [];
  if (items.some((item) => item.type === 'reasoning' && item.encrypted_content)) {
    answer.continueWith({ ...origin, blocks: items.map(withoutStatus) });
  }
  answer.end();
};

/** An item in the form for requests: without its status, which only the server sets. */
const withoutStatus = (item: Responses.ResponseOutputItem): Record<string, unknown> => {
  const { status: _, ...rest } = item as unknown as Record<string, unknown>;
  return rest;
};
