/**
 * Forwards JSON-RPC messages of one MCP client, line by line, to the `/mcp` of a gateway, and its
 * answers back.
 *
 * Guarantees: each request gets one answer. A request whose connection is lost, or whose gateway
 * restarts, is sent again for RETRY_FOR_MS. A tool call keeps its idempotency key, so it is
 * executed once; the bridge adds a key if the client sent none. A session of a 2025 client that the
 * gateway has lost is restarted, without the client.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CANCEL_CALL, IDEMPOTENCY_KEY } from '../../protocols/mcp.ts';
import { dataOf } from '../client/gateway-stream.ts';
import { failureOf, parsed, refusalOf } from '../client/gateway-http.ts';

type Id = string | number;
type Message = {
  readonly jsonrpc?: string;
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>> & {
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
};

export type BridgeOptions = {
  readonly url: string;
  /** token or password of the gateway */
  readonly secret: string | undefined;
  /** writes one message to the client */
  readonly write: (line: string) => void;
  readonly warn: (text: string) => void;
};

const RETRY_FOR_MS = 300_000;
const PAUSE_MS = 250;
const PAUSE_MAX_MS = 5_000;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const INTERNAL = -32_603;
const PARSE_ERROR = -32_700;
/** A gateway that stops ends its calls with this status, without a body. */
const STOPPED = 499;

/** A session of a 2025 client. */
type Session = { readonly id: string; readonly version: string };
/** What an attempt has come to: answered, or why it is tried again. */
type Attempt = 'answered' | { readonly again: string };
const LOST_SESSION: Attempt = { again: 'the gateway has lost the session' };

export class StdioBridge {
  readonly #o: BridgeOptions;
  /** requests that are not answered, by id as JSON */
  readonly #open = new Map<string, { readonly sent: Message; readonly gone: AbortController }>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #session: Session | undefined;
  /** with which the session was begun */
  #initialize: Message | undefined;
  #renewal: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    this.#o = options;
  }

  /** Takes one line of the client. */
  receive(line: string): void {
    const message = parsed(line) as Message | undefined;
    if (message === undefined || typeof message !== 'object' || message === null) {
      this.#answer({ id: null, error: { code: PARSE_ERROR, message: 'a line is not JSON' } });
      return;
    }
    const work = this.#forward(message);
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /** Resolves when everything that was received is answered. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Gives up what is open; tasks continue in the gateway. */
  close(): void {
    this.#closed.abort();
  }

  async #forward(message: Message): Promise<void> {
    if (message.method === 'notifications/cancelled' && !this.#session)
      return this.#cancel(message);
    const isRequest = message.method !== undefined && message.id !== undefined;
    const sent = message.method === 'tools/call' ? withKey(message) : message;
    if (!isRequest) {
      // Clients of 2026 send no other notifications.
      if (this.#session) await this.#attempts(sent, this.#closed.signal);
      return;
    }
    const gone = new AbortController();
    const key = JSON.stringify(message.id);
    this.#open.set(key, { sent, gone });
    try {
      await this.#attempts(sent, AbortSignal.any([gone.signal, this.#closed.signal]));
    } finally {
      this.#open.delete(key);
    }
  }

  /**
   * Ends the request of a 2026 client. Closing its stream would cancel a call without a key; the
   * bridge has given it one.
   */
  async #cancel({ params }: Message): Promise<void> {
    const open = this.#open.get(JSON.stringify(params?.['requestId']));
    if (!open) return;
    open.gone.abort();
    const { sent } = open;
    if (sent.method !== 'tools/call') return;
    const meta = { ...sent.params?._meta, [CANCEL_CALL]: true };
    const cancel = { ...sent, params: { ...sent.params, _meta: meta } };
    await this.#post(cancel, this.#closed.signal).then(
      (response) => response.body?.cancel(),
      (error: unknown) => this.#o.warn(failureOf(error, this.#o.url).message),
    );
  }

  /** Sends a message until it is answered, refused, or the time is over. */
  async #attempts(message: Message, signal: AbortSignal): Promise<void> {
    const until = Date.now() + RETRY_FOR_MS;
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      const outcome = await this.#tried(message, signal).catch(
        (error: unknown): Attempt => ({ again: failureOf(error, this.#o.url).message }),
      );
      if (outcome === 'answered' || signal.aborted) return;
      if (Date.now() + pauseMs > until) return this.#fail(message, outcome.again);
      this.#o.warn(`${outcome.again}; trying again`);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  /** One attempt; a lost session is restarted, once for all requests that have lost it. */
  async #tried(message: Message, signal: AbortSignal): Promise<Attempt> {
    const session = this.#session;
    const outcome = await this.#attempt(message, signal);
    if (outcome !== LOST_SESSION || this.#session !== session || !session) return outcome;
    this.#renewal ??= this.#renew(session, this.#closed.signal).finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
    return outcome;
  }

  async #attempt(message: Message, signal: AbortSignal): Promise<Attempt> {
    const session = this.#session;
    const response = await this.#post(message, signal);
    const { status, headers, body } = response;
    if (status === 404 && session) {
      await body?.cancel();
      return LOST_SESSION;
    }
    const begun = headers.get('mcp-session-id') ?? undefined;
    if (headers.get('content-type')?.startsWith('text/event-stream') && body)
      return this.#stream(message, dataOf<Message>(body, signal), begun);
    if (status === STOPPED) return { again: 'the gateway has stopped' };
    const answer = parsed(await response.text()) as Partial<Message> | undefined;
    if (status === 503 || status === 429) {
      const pauseSec = Math.min(Number(headers.get('retry-after') ?? 1), PAUSE_MAX_MS / 1_000);
      await sleep(pauseSec * 1_000, undefined, { signal });
      return { again: refusalOf(answer, status, this.#o.url).message };
    }
    if (answer?.jsonrpc === undefined) {
      if (status >= 400) this.#fail(message, refusalOf(answer, status, this.#o.url).message);
      return 'answered';
    }
    this.#note(message, answer, begun);
    const isUnnamed = (answer.id ?? null) === null && message.id !== undefined;
    this.#answer(isUnnamed ? { ...answer, id: message.id } : answer);
    return 'answered';
  }

  #post(message: Message, signal: AbortSignal): Promise<Response> {
    return fetch(this.#o.url, {
      method: 'POST',
      headers: this.#headersOf(message),
      body: JSON.stringify(message),
      redirect: 'error',
      signal,
    });
  }

  /** Passes on the messages of a stream, which ends with the answer. */
  async #stream(
    message: Message,
    messages: AsyncIterable<Message>,
    begun: string | undefined,
  ): Promise<Attempt> {
    for await (const part of messages) {
      const isAnswer = part.id === message.id && part.method === undefined;
      if (isAnswer) this.#note(message, part, begun);
      this.#answer(part);
      if (isAnswer) return 'answered';
    }
    return message.id === undefined ? 'answered' : { again: 'the connection was lost' };
  }

  /** Remembers the session that an answer begins. */
  #note(message: Message, { result }: Message, begun: string | undefined): void {
    if (message.method !== 'initialize' || !result || begun === undefined) return;
    this.#initialize = message;
    this.#session = { id: begun, version: String(result['protocolVersion']) };
  }

  /** Restarts the session, as the client began it. */
  async #renew({ version }: Session, signal: AbortSignal): Promise<void> {
    const response = await this.#post(this.#initialize!, signal);
    await response.text();
    const id = response.headers.get('mcp-session-id');
    if (id === null) throw new Error(`no session could begin: status ${response.status}`);
    this.#session = { id, version };
    await this.#attempt({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
  }

  #headersOf({ method, params }: Message): Record<string, string> {
    const { secret } = this.#o;
    const version = params?._meta?.[VERSION_KEY];
    const name = params?.['name'] ?? params?.['uri'] ?? params?.['taskId'];
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(this.#session && method !== 'initialize'
        ? { 'mcp-session-id': this.#session.id, 'mcp-protocol-version': this.#session.version }
        : {}),
      ...(typeof version === 'string'
        ? {
            'mcp-protocol-version': version,
            ...(method === undefined ? {} : { 'mcp-method': method }),
            ...(typeof name === 'string' ? { 'mcp-name': headerOf(name) } : {}),
          }
        : {}),
    };
  }

  #fail({ id }: Message, message: string): void {
    if (id === undefined) return this.#o.warn(message);
    this.#answer({ id, error: { code: INTERNAL, message } });
  }

  #answer(message: Message): void {
    this.#o.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}

/** A call with a key, so that it can be sent again. */
const withKey = (message: Message): Message => {
  const { params = {} } = message;
  const meta = { [IDEMPOTENCY_KEY]: randomUUID(), ...params._meta };
  return { ...message, params: { ...params, _meta: meta } };
};

/** A value of `Mcp-Name`: text that a header cannot contain is sent in base64 (SEP-2243). */
const headerOf = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;
