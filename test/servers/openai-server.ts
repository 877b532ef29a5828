/** OpenAI's Responses API and Chat Completions, streaming, on one address of 127.0.0.1. */
import {
  chatChoice,
  chatChunk,
  chatError,
  chatUsage,
} from '../../loadtest/model-server/chat-chunks.ts';
import {
  type Plan,
  pieces,
  type Protocol,
  type ScriptedServer,
  type SeenRequest,
  type Send,
  type ServerOptions,
  startScriptedServer,
} from './scripted-server.ts';

/** `baseUrl` ends in `/v1`, as OpenAI's does. */
export const startOpenAiServer = (options: ServerOptions = {}): Promise<ScriptedServer> =>
  startScriptedServer((path) => protocols[path], '/v1', options);

type Answer = Extract<Plan, { kind: 'answer' }>;

const keyOf = (headers: SeenRequest['headers']) => headers.authorization?.replace('Bearer ', '');

const argsText = (args: unknown) => (typeof args === 'string' ? args : JSON.stringify(args));

// Chat Completions

type ChatMessage = {
  role: string;
  content?: unknown;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
};

const knownOfChat = 'model messages stream stream_options max_tokens tools reasoning_effort'.split(
  ' ',
);

const chatRefuses = ({ body }: SeenRequest): string | undefined => {
  const unknown = Object.keys(body).find((field) => !knownOfChat.includes(field));
  if (unknown) return `${unknown}: unknown parameter here`;
  if ('reasoning_effort' in body && !/gpt-[5-9]|o[134]/.test(String(body.model))) {
    return 'reasoning_effort: not supported by this model';
  }
  const messages = body.messages as ChatMessage[];
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) {
        return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
      }
      continue;
    }
    if (open.size > 0) return `tool_calls must be followed by tool messages: ${[...open].join()}`;
    for (const call of message.tool_calls ?? []) open.add(call.id);
  }
  return open.size > 0 ? 'tool_calls must be followed by tool messages' : undefined;
};

const chunk = (send: Send, { body }: SeenRequest, choices: readonly unknown[], usage?: unknown) =>
  send(undefined, chatChunk(body.model, choices, usage));

const finishReasons = {
  end: 'stop',
  tools: 'tool_calls',
  length: 'length',
  refusal: 'content_filter',
};

const finishChat = async (send: Send, request: SeenRequest, plan: Answer): Promise<void> => {
  for (const [index, { id, name, args }] of (plan.calls ?? []).entries()) {
    const [first, ...others] = pieces(argsText(args), plan.pieces);
    const begun = { index, id, type: 'function', function: { name, arguments: first } };
    await chunk(send, request, chatChoice({ tool_calls: [begun] }));
    for (const more of others) {
      const grown = { tool_calls: [{ index, function: { arguments: more } }] };
      await chunk(send, request, chatChoice(grown));
    }
  }
  const stop = plan.stop ?? (plan.calls?.length ? 'tools' : 'end');
  await chunk(send, request, chatChoice({}, finishReasons[stop]));
  if ((request.body.stream_options as { include_usage?: boolean } | undefined)?.include_usage) {
    const { inputTokens = 11, outputTokens = 7 } = plan.usage ?? {};
    const usage = chatUsage(inputTokens, outputTokens, plan.cachedTokens);
    await chunk(send, request, [], usage);
  }
  await send(undefined, '[DONE]');
};

const chat: Protocol = {
  refuses: chatRefuses,
  keyOf,
  wrongShape: { id: 'chatcmpl_1', object: 'chat.completion.chunk', choices: 42 },
  begin: (send, request) => chunk(send, request, chatChoice({ role: 'assistant', content: '' })),
  reasoning: (send, request, text) => chunk(send, request, chatChoice({ reasoning_content: text })),
  delta: (send, request, text) => chunk(send, request, chatChoice({ content: text })),
  finish: finishChat,
  errorEvent: (send, _, type, message) => send(undefined, { error: { message, type, code: type } }),
  errorBody: chatError,
};

// Responses

const knownOfResponses =
  'model input stream store instructions max_output_tokens tools reasoning include'.split(' ');

/** The efforts that a model accepts, according to its documentation. */
const efforts = (model: string): string[] => {
  if (/^gpt-4|-chat/.test(model)) return [];
  if (model.startsWith('gpt-5-pro')) return ['high'];
  if (/^gpt-5(-mini|-nano)?$/.test(model)) return ['minimal', 'low', 'medium', 'high'];
  return ['low', 'medium', 'high', ...(/^gpt-5\.[2-9]/.test(model) ? ['xhigh'] : [])];
};

const responsesRefuses = ({ body }: SeenRequest): string | undefined => {
  const unknown = Object.keys(body).find((field) => !knownOfResponses.includes(field));
  if (unknown) return `Unknown parameter: '${unknown}'`;
  const effort = (body.reasoning as { effort: string } | undefined)?.effort;
  if (effort !== undefined && !efforts(String(body.model)).includes(effort)) {
    return `Unsupported value: 'reasoning.effort' does not support '${effort}' with this model`;
  }
  if (body.store !== false) return 'store: this server keeps nothing';
  const items = body.input as { type?: string; call_id?: string }[];
  const called = new Set(
    items.filter((one) => one.type === 'function_call').map((one) => one.call_id),
  );
  if ([...called].some((id) => (id ?? '').length > 64)) return 'call_id: string too long';
  const answered = items
    .filter((one) => one.type === 'function_call_output')
    .map((one) => one.call_id);
  const orphan = answered.find((id) => !called.has(id));
  if (orphan) return `No tool call found for function call output with call_id ${orphan}`;
  const open = [...called].find((id) => !answered.includes(id));
  return open ? `No tool output found for function call ${open}` : undefined;
};

/** The output of a response so far: its items, and the number of events. */
type Said = { items: Record<string, unknown>[]; events: number };
const saidBy = new WeakMap<SeenRequest, Said>();
const said = (request: SeenRequest): Said => {
  const known = saidBy.get(request) ?? { items: [], events: 0 };
  saidBy.set(request, known);
  return known;
};

const emit = (send: Send, request: SeenRequest, type: string, fields: object): Promise<void> =>
  send(type, { type, sequence_number: said(request).events++, ...fields });

/** The index of the open item of a type; opens the item if necessary. */
const item = async (
  send: Send,
  request: SeenRequest,
  fresh: Record<string, unknown>,
): Promise<{ at: number; open: Record<string, unknown> }> => {
  const { items } = said(request);
  if (items.at(-1)?.type !== fresh.type || fresh.type === 'function_call') {
    items.push(fresh);
    const fields = { output_index: items.length - 1, item: fresh };
    await emit(send, request, 'response.output_item.added', fields);
  }
  const at = items.length - 1;
  return { at, open: items[at] as Record<string, unknown> };
};

const response = (request: SeenRequest, status: string, more: object = {}) => ({
  response: {
    id: 'resp_1',
    object: 'response',
    status,
    model: request.body.model,
    output: [],
    ...more,
  },
});

const finishResponse = async (send: Send, request: SeenRequest, plan: Answer): Promise<void> => {
  for (const { id, name, args } of plan.calls ?? []) {
    const text = argsText(args);
    const fresh = {
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: '',
      status: 'in_progress',
    };
    const { at, open } = await item(send, request, fresh);
    const place = { output_index: at, item_id: open.id };
    for (const delta of pieces(text, plan.pieces)) {
      await emit(send, request, 'response.function_call_arguments.delta', { ...place, delta });
    }
    Object.assign(open, { arguments: text, status: 'completed' });
    const whole = { ...place, name, arguments: text };
    await emit(send, request, 'response.function_call_arguments.done', whole);
  }
  const { items } = said(request);
  for (const [at, one] of items.entries()) {
    await emit(send, request, 'response.output_item.done', { output_index: at, item: one });
  }
  await end(send, request, plan);
};

const end = (send: Send, request: SeenRequest, plan: Answer): Promise<void> => {
  const { inputTokens = 11, outputTokens = 7 } = plan.usage ?? {};
  const input_tokens_details = { cached_tokens: plan.cachedTokens ?? 0 };
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens, input_tokens_details };
  const { items } = said(request);
  if (plan.stop === 'length' || plan.stop === 'refusal') {
    const reason = plan.stop === 'length' ? 'max_output_tokens' : 'content_filter';
    const more = { usage, output: items, incomplete_details: { reason } };
    return emit(send, request, 'response.incomplete', response(request, 'incomplete', more));
  }
  const more = { usage, output: items };
  return emit(send, request, 'response.completed', response(request, 'completed', more));
};

const responses: Protocol = {
  refuses: responsesRefuses,
  keyOf,
  wrongShape: { type: 'response.output_text.delta', output_index: 0, delta: { text: 'a' } },
  begin: (send, request) =>
    emit(send, request, 'response.created', response(request, 'in_progress')),
  async reasoning(send, request, delta) {
    const fresh = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: 'sealed',
      status: null,
    };
    const { at } = await item(send, request, fresh);
    const fields = { output_index: at, item_id: 'rs_1', summary_index: 0, delta };
    await emit(send, request, 'response.reasoning_summary_text.delta', fields);
  },
  async delta(send, request, delta) {
    const content: { type: string; text: string; annotations: unknown[] }[] = [
      { type: 'output_text', text: '', annotations: [] },
    ];
    const fresh = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'in_progress',
      content,
    };
    const { at, open } = await item(send, request, fresh);
    const [part] = open.content as typeof content;
    if (part) part.text += delta;
    const fields = { output_index: at, item_id: 'msg_1', content_index: 0, delta, logprobs: [] };
    await emit(send, request, 'response.output_text.delta', fields);
  },
  finish: finishResponse,
  errorEvent: (send, request, code, message) =>
    emit(
      send,
      request,
      'response.failed',
      response(request, 'failed', { error: { code, message } }),
    ),
  errorBody: chatError,
};

const protocols: Readonly<Record<string, Protocol>> = {
  '/v1/chat/completions': chat,
  '/v1/responses': responses,
};
