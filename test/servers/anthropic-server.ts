/** Anthropic's Messages API (version 2026-10-21), streaming, on 127.0.0.1. */
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

export const startAnthropicServer = (options: ServerOptions = {}): Promise<ScriptedServer> =>
  startScriptedServer((path) => (path === '/v1/messages' ? protocol : undefined), '', options);

type SentMessage = { role: string; content: string | { type: string; [field: string]: unknown }[] };

const known =
  'model max_tokens stream messages system tools cache_control thinking output_config'.split(' ');

/** Rules of the real API that a client can violate. */
const refuses = ({ body, headers }: SeenRequest): string | undefined => {
  for (const field of Object.keys(body)) {
    if (!known.includes(field)) return `${field}: Extra inputs are not permitted`;
  }
  if (headers['anthropic-version'] !== '2026-10-21') return 'anthropic-version: unknown version';
  if (typeof body.max_tokens !== 'number') return 'max_tokens: Field required';
  const model = String(body.model);
  const thinking = body.thinking as { type: string; budget_tokens?: number } | undefined;
  const adaptive = /claude-[a-z]+-(4-[6-9]|[5-9])/.test(model);
  if (thinking && !/claude-(3-7|[a-z]+-[4-9])/.test(model)) return 'thinking: not supported';
  if (!adaptive && (thinking?.type === 'adaptive' || 'output_config' in body)) {
    return 'output_config.effort: not supported by this model';
  }
  if (thinking?.type === 'enabled') {
    if (adaptive) return 'thinking.type.enabled is not supported';
    const budget = thinking.budget_tokens ?? 0;
    if (budget < 1_024 || budget >= body.max_tokens) return 'thinking.budget_tokens: out of range';
  }
  return refusesMessages(body.messages as SentMessage[]);
};

const refusesMessages = (messages: SentMessage[]): string | undefined => {
  if (messages.length === 0) return 'messages: at least one message is required';
  const used = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_use'),
  );
  if (new Set(used.map(({ id }) => id)).size < used.length) return '`tool_use` ids must be unique';
  for (const [at, message] of messages.entries()) {
    const blocks = typeof message.content === 'string' ? [] : message.content;
    if (
      message.content === '' ||
      blocks.some((block) => block.type === 'text' && block.text === '')
    ) {
      return `messages.${at}: text content blocks must be non-empty`;
    }
    const uses = blocks.filter((block) => block.type === 'tool_use').map((block) => block.id);
    if (uses.some((id) => !/^[\w-]+$/.test(String(id)))) return 'tool_use.id: invalid';
    const next = messages[at + 1]?.content;
    const results = Array.isArray(next) ? next.map((block) => block.tool_use_id) : [];
    if (uses.some((id) => !results.includes(id))) {
      return `messages.${at}: tool_use ids were found without tool_result blocks immediately after`;
    }
    const before = messages[at - 1]?.content;
    const asked = Array.isArray(before) ? before.map((block) => block.id) : [];
    if (
      blocks.some((block) => block.type === 'tool_result' && !asked.includes(block.tool_use_id))
    ) {
      return `messages.${at}: unexpected tool_use_id found in tool_result blocks`;
    }
  }
  return undefined;
};

/** Blocks open and close in order; the index of the next one is the number of opened blocks. */
const opened = new WeakMap<SeenRequest, string[]>();

const into = async (
  send: Send,
  request: SeenRequest,
  type: string,
  block: unknown,
): Promise<number> => {
  const blocks = opened.get(request) ?? [];
  opened.set(request, blocks);
  if (blocks.at(-1) !== type || type === 'tool_use') {
    await closeBlock(send, blocks);
    await send('content_block_start', {
      type: 'content_block_start',
      index: blocks.length,
      content_block: block,
    });
    blocks.push(type);
  }
  return blocks.length - 1;
};

const closeBlock = async (send: Send, blocks: readonly string[]): Promise<void> => {
  const index = blocks.length - 1;
  if (index >= 0) await send('content_block_stop', { type: 'content_block_stop', index });
};

const delta = (send: Send, index: number, change: unknown): Promise<void> =>
  send('content_block_delta', { type: 'content_block_delta', index, delta: change });

const stopReasons = {
  end: 'end_turn',
  tools: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
};

const finish = async (
  send: Send,
  request: SeenRequest,
  plan: Extract<Plan, { kind: 'answer' }>,
): Promise<void> => {
  for (const { id, name, args } of plan.calls ?? []) {
    const index = await into(send, request, 'tool_use', { type: 'tool_use', id, name, input: {} });
    const json = typeof args === 'string' ? args : JSON.stringify(args);
    for (const part of pieces(json, plan.pieces)) {
      await delta(send, index, { type: 'input_json_delta', partial_json: part });
    }
  }
  await closeBlock(send, opened.get(request) ?? []);
  const stop = plan.stop ?? (plan.calls?.length ? 'tools' : 'end');
  await send('message_delta', {
    type: 'message_delta',
    delta: { stop_reason: stopReasons[stop], stop_sequence: null },
    usage: { output_tokens: plan.usage?.outputTokens ?? 7 },
  });
  await send('message_stop', { type: 'message_stop' });
};

const protocol: Protocol = {
  refuses,
  keyOf: (headers) => headers.authorization?.replace('Bearer ', ''),
  wrongShape: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 42 } },
  async begin(send, { body }) {
    await send('message_start', {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: body.model,
        content: [],
        stop_reason: null,
        // 11 in total: cached tokens are included
        usage: {
          input_tokens: 5,
          cache_creation_input_tokens: 4,
          cache_read_input_tokens: 2,
          output_tokens: 1,
        },
      },
    });
    await send('ping', { type: 'ping' });
  },
  async reasoning(send, request, text) {
    const block = { type: 'thinking', thinking: '', signature: '' };
    const index = await into(send, request, 'thinking', block);
    await delta(send, index, { type: 'thinking_delta', thinking: text });
    await delta(send, index, { type: 'signature_delta', signature: `signed(${text})` });
  },
  async delta(send, request, text) {
    const index = await into(send, request, 'text', { type: 'text', text: '' });
    await delta(send, index, { type: 'text_delta', text });
  },
  finish,
  errorEvent: (send, _, type, message) =>
    send('error', { type: 'error', error: { type, message } }),
  errorBody: (status, type, message) => ({
    type: 'error',
    error: { type: type ?? errorTypes[status] ?? 'api_error', message },
    request_id: 'req_1',
  }),
};

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};
