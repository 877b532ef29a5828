/**
 * The MCP endpoint of a gateway, on the official SDK: requests of the revision 2026-07-28, each by
 * itself, and sessions of 2025 clients.
 *
 * This module loads the SDK; `route.ts` imports it with the first request.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type AuthInfo,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpHttpHandler,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
} from '@modelcontextprotocol/server';
import { assertScope } from '../../operations/access.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { IDEMPOTENCY_KEY } from '../../protocols/mcp.ts';
import type { Clock } from '../../runtime/index.ts';
import { header, parseJson, type RouteRequest, sendJson } from '../http/route.ts';
import type { Catalog, McpCaller } from './catalog.ts';
import { answerDirectly, directCallIn } from './direct-calls.ts';
import { mcpServer, type ServerInfo } from './server.ts';
import { McpSessions, SWEEP_MS } from './sessions.ts';
import { TaskSubscriptions } from './task-subscriptions.ts';

export type CatalogOf = (caller: () => McpCaller) => Catalog;

export type EndpointOptions = {
  /** what the present caller sees */
  readonly catalogOf: CatalogOf;
  readonly info: ServerInfo;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: { error(facts: object, message: string): void };
};

/** Same as the limit of an envelope, of which most requests have one. */
const BODY_BYTES_MAX = 1_048_576 + 65_536;
const CALL = 'tools/call';
/** Not used: routes were found before. */
const URL_OF_SDK = 'http://localhost/mcp';
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export class McpEndpoint {
  readonly #handler: McpHttpHandler;
  readonly #sessions: McpSessions;
  readonly #subscriptions = new TaskSubscriptions();
  readonly #catalogOf: CatalogOf;
  readonly #info: ServerInfo;
  readonly #sweep: NodeJS.Timeout;
  #isClosed = false;

  constructor({ catalogOf, info, clock, log }: EndpointOptions) {
    const onerror = (error: Error) => {
      if (!isRefusal(error)) log.error({ err: error }, 'mcp: a request failed');
    };
    this.#catalogOf = catalogOf;
    this.#info = info;
    this.#handler = createMcpHandler(
      ({ authInfo }) => {
        const { caller, methods } = askedIn(authInfo);
        return mcpServer(
          catalogOf(() => caller),
          info,
          methods,
        );
      },
      { legacy: 'reject', onerror },
    );
    const serverFor = (caller: () => McpCaller) => mcpServer(catalogOf(caller), info);
    this.#sessions = new McpSessions({ serverFor, clock });
    this.#sweep = setInterval(() => this.#sessions.sweep(), SWEEP_MS).unref();
  }

  /** Answers a request of an authenticated caller. @throws TroupeError before anything is sent */
  async serve(incoming: RouteRequest, caller: McpCaller): Promise<void> {
    const { request } = incoming;
    const isPost = request.method === 'POST';
    if (isPost && !isJsonContentType(request.headers['content-type'] ?? null))
      throw new TroupeError('INVALID_ARGUMENT', 'send a body of content-type application/json');
    const body = isPost ? parseJson(await incoming.body(BODY_BYTES_MAX)) : undefined;
    const catalog = this.#catalogOf(() => caller);
    if (caller.scopes) assertScopes(caller, body, catalog);
    if (await this.#servedDirectly(incoming, body, catalog)) return;
    const asked = parsedRequest(incoming);
    if (!isStateless(body) && (await isLegacyRequest(asked, body))) {
      const { response, onEnd } = await this.#sessions.serve(asked, body, caller);
      await send(incoming, response).finally(onEnd);
      return;
    }
    if (await this.#subscriptions.serve(incoming, body, caller, () => catalog.tasks)) return;
    const authInfo = authInfoOf({ caller, methods: methodOf(body) === CALL ? 'tools' : 'all' });
    const options = { authInfo, ...(body === undefined ? {} : { parsedBody: body }) };
    await send(incoming, await this.#handler.fetch(asked, options));
  }

  /** Whether the request is a plain call of a tool of this catalog, which is answered then. */
  async #servedDirectly(
    { request, response, signal }: RouteRequest,
    body: unknown,
    { tool: toolNamed }: Catalog,
  ): Promise<boolean> {
    const call = toolNamed && directCallIn(request, body);
    const tool = call && toolNamed(call.name);
    if (!tool) return false;
    const answer = await answerDirectly(call, tool, signal, this.#info);
    // A call with a key is repeated at the next gateway, and is the same task there. What has
    // succeeded is answered: not every tool knows its key.
    if (this.#isClosed && call.meta[IDEMPOTENCY_KEY] !== undefined && !hasSucceeded(answer))
      throw new TroupeError('UNAVAILABLE', 'the gateway stops: send the call again, with its key');
    if (!signal.aborted) sendJson(response, 200, answer);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    this.#sessions.close();
    this.#subscriptions.close();
    await this.#handler.close();
  }
}

/**
 * A request that the SDK refused because of its contents: its client gets the reason. Clients could
 * otherwise fill the log.
 */
const isRefusal = (error: Error): boolean =>
  error instanceof ProtocolError || error.message.startsWith('Rejected inbound request');

/** An answer of JSON-RPC. */
const hasSucceeded = (answer: object): boolean =>
  (answer as { readonly result?: { readonly isError?: boolean } }).result?.isError !== true &&
  'result' in answer;

/** What the server for one request is made from. The SDK passes it on. */
type Asked = { readonly caller: McpCaller; readonly methods: 'all' | 'tools' };

const authInfoOf = (asked: Asked): AuthInfo => ({
  token: '',
  clientId: asked.caller.sub,
  scopes: [...asked.caller.roles],
  extra: asked,
});

const askedIn = (authInfo: AuthInfo | undefined): Asked => authInfo!.extra as Asked;

/**
 * Scopes are checked before a call is served, because a client learns from the status what to ask
 * for. All other parts of the catalog check them again.
 * @throws TroupeError FORBIDDEN
 */
function assertScopes(caller: McpCaller, body: unknown, { needOf }: Catalog): void {
  for (const message of [body].flat()) {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } };
    if (method === CALL && needOf) assertScope(caller, needOf(String(params?.name)));
    if (method === 'tasks/update' || method === 'tasks/cancel') assertScope(caller, 'call');
  }
}

const methodOf = (body: unknown): unknown => (body as { method?: unknown } | undefined)?.method;

/** Whether a body names its revision itself: what the SDK never treats as a request of 2025. */
const isStateless = (body: unknown): boolean => {
  const { params } = (body ?? {}) as { params?: { _meta?: object } | null };
  return params?._meta?.[PROTOCOL_VERSION_META_KEY as keyof object] !== undefined;
};

/**
 * The parts of a request that the SDK reads when it gets the body apart. A complete `Request` costs
 * more than the rest of this file.
 */
function parsedRequest({ request, signal }: RouteRequest): Request {
  const headers = { get: (name: string) => header(request, name.toLowerCase()) ?? null };
  const { method = 'GET' } = request;
  return { method, headers, signal, url: URL_OF_SDK } as unknown as Request;
}

/** Sends an answer, which may be a stream; it ends when the client disconnects. */
async function send({ response, signal }: RouteRequest, answer: Response): Promise<void> {
  if (signal.aborted) return;
  const headers = { ...Object.fromEntries(answer.headers), ...HEADERS };
  if (!answer.body || isJsonContentType(answer.headers.get('content-type'))) {
    // A text leaves with the headers in one write.
    const text = await answer.text();
    const length = Buffer.byteLength(text);
    response.writeHead(answer.status, { ...headers, 'content-length': length }).end(text);
    return;
  }
  response.writeHead(answer.status, headers);
  response.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(answer.body as never), response);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
