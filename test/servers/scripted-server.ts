/**
 * A local HTTP server in place of a model provider: each request uses the next plan of a script, or
 * the default plan. It sends real HTTP and server-sent events on 127.0.0.1, so that tests use the
 * real SDKs. The protocols are in anthropic-server.ts, google-server.ts and openai-server.ts.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type PlannedCall = { id: string; name: string; args: unknown };

export type Plan =
  /** a successful answer: each delta is one event */
  | {
      kind: 'answer';
      deltas?: readonly string[];
      reasoning?: readonly string[];
      calls?: readonly PlannedCall[];
      /** default `tools` with calls, else `end` */
      stop?: 'end' | 'tools' | 'length' | 'refusal';
      usage?: { inputTokens: number; outputTokens: number };
      /** the cached part of the input */
      cachedTokens?: number;
      /** number of events in which the arguments of a call arrive; default 2 */
      pieces?: number;
      /** delay before the first event, milliseconds: the model's thinking time */
      thinkMs?: number;
      /** the first event waits for this */
      until?: Promise<unknown>;
      /** the body is written in pieces of this number of bytes; default each event whole */
      bytesAtOnce?: number;
      /** the socket stays open after the end event */
      hold?: boolean;
      /** delay before each event, milliseconds; for demonstrations and load */
      delayMs?: number;
    }
  /** an HTTP error with the provider's error body */
  | {
      kind: 'refuse';
      status: number;
      type?: string;
      message?: string;
      headers?: Readonly<Record<string, string>>;
    }
  /** deltas, then the socket is destroyed */
  | { kind: 'cut'; deltas: readonly string[]; reasoning?: readonly string[] }
  /** deltas, then a regular end of the body without the end event */
  | { kind: 'endEarly'; deltas: readonly string[] }
  /**
   * deltas, then silence until the client disconnects; with `pings` keep-alives that carry no event
   */
  | { kind: 'stall'; deltas: readonly string[]; pings?: { everyMs: number; count: number } }
  /** deltas, then a malformed event: not JSON, or JSON of a wrong form */
  | { kind: 'malformed'; deltas: readonly string[]; form: 'json' | 'shape' }
  /** deltas, then an error as an event */
  | { kind: 'errorEvent'; deltas: readonly string[]; type: string; message: string }
  /** these events unchanged, then the end of the body */
  | { kind: 'raw'; events: readonly unknown[] }
  /** headers never come */
  | { kind: 'silent' };

export type SeenRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  // tests read single fields of the SDK's request
  readonly body: Record<string, unknown>;
  /** the client's port: the same for requests on one connection */
  readonly clientPort: number | undefined;
  /** the client closed the connection before the answer was complete */
  aborted: boolean;
};

/** Writes the events of one protocol; `send` writes one event, after the planned delay. */
export type Protocol = {
  /** why the real provider would refuse the request, or undefined */
  refuses(request: SeenRequest): string | undefined;
  /** the headers that authenticate the client */
  keyOf(headers: SeenRequest['headers']): string | undefined;
  begin(send: Send, request: SeenRequest): void | Promise<void>;
  delta(send: Send, request: SeenRequest, text: string): void | Promise<void>;
  finish(send: Send, request: SeenRequest, plan: Extract<Plan, { kind: 'answer' }>): Promise<void>;
  reasoning(send: Send, request: SeenRequest, text: string): void | Promise<void>;
  errorEvent(send: Send, request: SeenRequest, type: string, message: string): void | Promise<void>;
  errorBody(status: number, type: string | undefined, message: string): unknown;
  /** JSON that is not an event of the protocol */
  wrongShape: unknown;
  /** an event whose data is not JSON; default one that has a name */
  brokenEvent?: string;
};
export type Send = (event: string | undefined, data: unknown) => Promise<void>;

export type ScriptedServer = {
  /** root of the API, for `baseUrl` in the configuration */
  readonly baseUrl: string;
  readonly requests: readonly SeenRequest[];
  /** Plans for the next requests, in order. */
  script(...plans: readonly Plan[]): void;
  /** The plan for requests when the script is empty; default a short answer. */
  otherwise(plan: Plan | ((request: SeenRequest) => Plan | Promise<Plan>)): void;
  /** May be repeated. */
  close(): Promise<void>;
};

export type ServerOptions = {
  /** the accepted key; default any */
  readonly apiKey?: string;
};

export const startScriptedServer = async (
  protocolOf: (path: string) => Protocol | undefined,
  root: string,
  { apiKey }: ServerOptions,
): Promise<ScriptedServer> => {
  const requests: SeenRequest[] = [];
  const plans: Plan[] = [];
  let fallback: Parameters<ScriptedServer['otherwise']>[0] = { kind: 'answer', deltas: ['ok'] };
  const sockets = new Set<Socket>();

  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await read(incoming);
    const protocol = protocolOf(request.path);
    if (!protocol) return void response.writeHead(404).end('{}');
    requests.push(request);
    response.once('close', () => {
      request.aborted = !response.writableFinished;
    });
    const refusal = protocol.refuses(request);
    const planned =
      plans.shift() ?? (typeof fallback === 'function' ? await fallback(request) : fallback);
    const plan: Plan =
      apiKey !== undefined && protocol.keyOf(request.headers) !== apiKey
        ? {
            kind: 'refuse',
            status: 401,
            type: 'authentication_error',
            message: `Incorrect API key: ${protocol.keyOf(request.headers)}`,
          }
        : refusal !== undefined
          ? { kind: 'refuse', status: 400, type: 'invalid_request_error', message: refusal }
          : planned;
    await play(plan, protocol, request, response);
  };

  const server = createServer((incoming, response) => {
    // a client that disconnects is not an error of this server
    answer(incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  // longer than any test, because another test covers a connection that ends when it is used again
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${root}`,
    requests,
    script: (...more) => void plans.push(...more),
    otherwise: (plan) => void (fallback = plan),
    close: () =>
      new Promise((resolve) => {
        // the only error is that the server is already closed
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

const read = async (incoming: IncomingMessage): Promise<SeenRequest> => {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  return {
    path: (incoming.url ?? '').split('?')[0] ?? '',
    headers: incoming.headers as Record<string, string>,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
    clientPort: incoming.socket.remotePort,
    aborted: false,
  };
};

const play = async (
  plan: Plan,
  protocol: Protocol,
  request: SeenRequest,
  response: ServerResponse,
): Promise<void> => {
  if (plan.kind === 'silent') return;
  if (plan.kind === 'refuse') {
    const body = protocol.errorBody(plan.status, plan.type, plan.message ?? 'refused as planned');
    response.writeHead(plan.status, { 'content-type': 'application/json', ...plan.headers });
    return void response.end(JSON.stringify(body));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  if (plan.kind === 'raw') {
    for (const data of plan.events) await sender(response, {})(undefined, data);
    return void response.end();
  }
  const pace: Pace = plan.kind === 'answer' ? plan : {};
  await pace.until;
  if (pace.thinkMs) await new Promise((resolve) => setTimeout(resolve, pace.thinkMs));
  const send = sender(response, pace);
  await protocol.begin(send, request);
  const isThought = plan.kind === 'answer' || plan.kind === 'cut';
  for (const text of (isThought && plan.reasoning) || []) {
    await protocol.reasoning(send, request, text);
  }
  for (const text of plan.deltas ?? []) await protocol.delta(send, request, text);
  await conclude(plan, protocol, request, response, send);
};

const conclude = async (
  plan: Exclude<Plan, { kind: 'silent' | 'refuse' | 'raw' }>,
  protocol: Protocol,
  request: SeenRequest,
  response: ServerResponse,
  send: Send,
): Promise<void> => {
  switch (plan.kind) {
    case 'answer':
      await protocol.finish(send, request, plan);
      if (!plan.hold) response.end();
      return;
    case 'cut':
      // the client must receive the written data before the socket closes
      return void response.write(': cut\n\n', () => response.socket?.destroy());
    case 'endEarly':
      return void response.end();
    case 'malformed':
      if (plan.form === 'json') response.write(protocol.brokenEvent ?? brokenEvent);
      else
        await send(protocol.brokenEvent ? undefined : 'content_block_delta', protocol.wrongShape);
      return void response.end();
    case 'errorEvent':
      await protocol.errorEvent(send, request, plan.type, plan.message);
      return void response.end();
    case 'stall':
      await ping(plan.pings, response);
  }
};

/**
 * Sends comment lines, which SSE parsers skip; then ends the body, so that the client continues.
 */
const ping = async (
  pings: { everyMs: number; count: number } | undefined,
  response: ServerResponse,
): Promise<void> => {
  if (!pings) return;
  for (let sent = 0; sent < pings.count && !response.destroyed; sent++) {
    await new Promise((resolve) => setTimeout(resolve, pings.everyMs));
    response.write(': ping\n\n');
  }
  response.end();
};

const brokenEvent = 'event: message_delta\ndata: {"type": "mess\n\n';

type Pace = { thinkMs?: number; until?: Promise<unknown>; delayMs?: number; bytesAtOnce?: number };

const sender = (response: ServerResponse, { delayMs = 0, bytesAtOnce = 0 }: Pace): Send => {
  return async (event, data) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    const block = `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
    if (bytesAtOnce === 0) return void response.write(block);
    const bytes = Buffer.from(block);
    for (let at = 0; at < bytes.length && !response.destroyed; at += bytesAtOnce) {
      // wait until this piece is sent, so that the next one is a packet of its own
      await new Promise((resolve) => response.write(bytes.subarray(at, at + bytesAtOnce), resolve));
    }
  };
};

/** Splits `text` into this number of parts; the last may be longer. */
export const pieces = (text: string, count = 2): string[] => {
  const size = Math.max(1, Math.floor(text.length / count));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * size, at === count - 1 ? undefined : (at + 1) * size),
  );
};
