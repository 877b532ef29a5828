/**
 * A scripted model: an OpenAI-compatible server on this machine that answers without thinking, with
 * latencies and errors of given distributions. Its draws follow a seed and the order in which
 * requests arrive.
 *
 * A last message of the form `call TOOL {json}` is answered with that call, if the tool is offered,
 * so that workloads can have agents call tools.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../random.ts';
import { chatChoice, chatChunk, chatError, chatUsage } from './chat-chunks.ts';
import { type Draw, drawOf, type ModelScript } from './script.ts';

export type ModelServerOptions = {
  readonly script: ModelScript;
  readonly seed: number;
  /** 0 selects a free port */
  readonly port: number;
  /** default 127.0.0.1 */
  readonly host?: string;
};

export type ModelServer = {
  /** for `baseUrl` in the configuration; ends in `/v1` */
  readonly baseUrl: string;
  /** mean time of the answers so far, errors included, ms; 0 before the first */
  readonly meanMs: () => number;
  /** requests so far, by what they got: `ok` or a fault */
  readonly counts: () => Readonly<Record<string, number>>;
  /** May be repeated. */
  readonly close: () => Promise<void>;
};

/** The id of its only model. */
export const SCRIPTED_MODEL = 'scripted';

const BODY_BYTES_MAX = 16 * 1024 * 1024;
const RETRY_AFTER_SEC = 1;
/** Tokens written in one event when there is no pace. */
const TOKENS_AT_ONCE = 64;

/** @throws Error of the system when the port cannot be used */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { script, seed, port, host = '127.0.0.1' } = options;
  const random = new Random(seed);
  const counts: Record<string, number> = {};
  const sockets = new Set<Socket>();
  const total = { ms: 0, answers: 0 };
  const server = createServer((incoming, response) => {
    const beginMs = performance.now();
    const draw = () => {
      const drawn = drawOf(script, random);
      const kind = drawn.fault ?? 'ok';
      counts[kind] = (counts[kind] ?? 0) + 1;
      return drawn;
    };
    answer(incoming, response, draw, script.pace)
      .then((isAnswer) => {
        if (!isAnswer) return;
        total.ms += performance.now() - beginMs;
        total.answers++;
      })
      // a client that disconnects is no error of this server
      .catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    baseUrl: `http://${host.includes(':') ? `[${host}]` : host}:${actual}/v1`,
    meanMs: () => (total.answers === 0 ? 0 : total.ms / total.answers),
    counts: () => ({ ...counts }),
    close: () =>
      new Promise((resolve) => {
        // fails only when it is closed already
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

type ChatRequest = {
  readonly model?: unknown;
  readonly stream?: unknown;
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function?: { readonly name?: unknown } }[];
};

/** Resolves with whether it was an answer of the model, and not one about the server. */
async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  draw: () => Draw,
  pace: number,
): Promise<boolean> {
  const path = (incoming.url ?? '').split('?')[0];
  if (incoming.method === 'GET' && path === '/v1/models') {
    const model = { id: SCRIPTED_MODEL, object: 'model', created: 1, owned_by: 'troupe' };
    sendJson(response, 200, { object: 'list', data: [model] });
    return false;
  }
  const request = await bodyOf(incoming);
  if (incoming.method !== 'POST' || path !== '/v1/chat/completions' || request === undefined) {
    const why = 'only POST /v1/chat/completions with JSON, and GET /v1/models';
    sendJson(response, 404, chatError(404, 'not_found', why));
    return false;
  }
  const drawn = draw();
  await sleep(drawn.latencyMs);
  if (drawn.fault === '429') response.setHeader('retry-after', String(RETRY_AFTER_SEC));
  if (drawn.fault === '429' || drawn.fault === '500') {
    const type = drawn.fault === '429' ? 'rate_limit_exceeded' : undefined;
    const status = Number(drawn.fault);
    sendJson(response, status, chatError(status, type, 'an error of the script'));
  } else if (request.stream === true) await stream(request, response, drawn, pace);
  else whole(request, response, drawn);
  return true;
}

async function stream(
  request: ChatRequest,
  response: ServerResponse,
  { tokens, fault }: Draw,
  pace: number,
): Promise<void> {
  const send = (data: unknown) =>
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  const chunk = (choices: readonly unknown[], usage?: unknown) =>
    send(chatChunk(request.model, choices, usage));
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  chunk(chatChoice({ role: 'assistant', content: '' }));
  const call = callIn(request);
  const written = call ? 0 : fault ? Math.ceil(tokens / 2) : tokens;
  const atOnce = pace > 0 ? 1 : TOKENS_AT_ONCE;
  for (let at = 0; at < written && !response.destroyed; at += atOnce) {
    if (pace > 0 && at > 0) await sleep(1_000 / pace);
    chunk(chatChoice({ content: textOf(at, Math.min(atOnce, written - at)) }));
  }
  // what was written arrives before the connection ends
  if (fault) return void response.write(': cut\n\n', () => response.socket?.destroy());
  if (call) chunk(chatChoice({ tool_calls: [{ index: 0, ...call }] }));
  chunk(chatChoice({}, call ? 'tool_calls' : 'stop'));
  chunk([], usageOf(request, tokens));
  send('[DONE]');
  response.end();
}

function whole(request: ChatRequest, response: ServerResponse, { tokens, fault }: Draw): void {
  if (fault) return void response.socket?.destroy();
  const call = callIn(request);
  const content = call ? null : textOf(0, tokens);
  const message = { role: 'assistant', content, ...(call && { tool_calls: [call] }) };
  const choices = [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop' }];
  const usage = usageOf(request, tokens);
  const head = { id: 'chatcmpl_1', object: 'chat.completion', created: 1, model: request.model };
  sendJson(response, 200, { ...head, choices, usage });
}

const WORDS = 'the actor reads one message and changes its state'.split(' ');

/** One word for each token. */
const textOf = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `${WORDS[(from + at) % WORDS.length]} `).join('');

const contentOf = (content: unknown): string =>
  typeof content === 'string' ? content : (JSON.stringify(content) ?? '');

/** Four characters count as one token. */
const usageOf = ({ messages = [] }: ChatRequest, tokens: number) => {
  const characters = messages.reduce((sum, { content }) => sum + contentOf(content).length, 0);
  return chatUsage(Math.ceil(characters / 4), tokens);
};

/** The call that the last message asks for; none once there is a result. */
function callIn({ messages = [], tools = [] }: ChatRequest) {
  const last = messages.at(-1);
  if (last?.role !== 'user') return undefined;
  const text = textIn(last.content);
  const [, name, args] = /\bcall ([\w-]{1,64}) (\{[^{}]*\})/.exec(text) ?? [];
  if (name === undefined || !tools.some((tool) => tool.function?.name === name)) return undefined;
  const id = `call_${messages.length}`;
  return { id, type: 'function', function: { name, arguments: args } };
}

const textIn = (content: unknown): string =>
  Array.isArray(content)
    ? content.map((part) => contentOf((part as { text?: unknown }).text)).join('\n')
    : contentOf(content);

/** undefined unless it is a JSON object of at most 16 MiB. */
async function bodyOf(incoming: IncomingMessage): Promise<ChatRequest | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    parts.push(part);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString());
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
