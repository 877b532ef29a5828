/**
 * One account of an adapter as the runtime would run it: it stores messages by key and the last
 * position, and starts again with what it has stored. Webhooks reach it over HTTP.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  AccountAdapter,
  ChannelAdapter,
  Connection,
  FilePiece,
  Piece,
} from '../../../channels/messengers/adapter.ts';
import type {
  ChatRef,
  ConnectOutput,
  InboundMessage,
  SendOutcome,
} from '../../../protocols/channel.ts';
import { errorData, ERRORS, TroupeError } from '../../../protocols/errors.ts';
import { type Clock, systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';

export class AccountRun {
  readonly account: AccountAdapter;
  /** deliveries of the adapter in order, also repeated ones */
  readonly deliveries: InboundMessage[] = [];
  /** what the runtime has stored: the first delivery of each key */
  readonly stored = new Map<string, InboundMessage>();
  readonly typing: ChatRef[] = [];
  readonly outcomes = new Map<string, SendOutcome>();
  readonly warnings: object[] = [];
  /** while true, messages are not stored */
  isUnavailable = false;
  /** a gate before messages are stored */
  beforeStore: (messages: readonly InboundMessage[]) => Promise<void> = async () => {};
  position: unknown;
  identity: string | undefined;
  name: string | undefined;
  connections = 0;
  end: ConnectOutput | undefined;
  #ending: Promise<unknown> | undefined;
  #abort = new AbortController();

  constructor(adapter: ChannelAdapter, settings: unknown, clock: Clock = systemClock) {
    this.account = adapter.create({
      settings,
      account: 'main',
      clock,
      log: { warn: (details) => void this.warnings.push(details) },
      onMessages: (messages) => this.#store(messages),
      onTyping: (chat) => void this.typing.push(chat),
      onOutcome: async ({ pieceId, outcome }) => void this.outcomes.set(pieceId, outcome),
    });
  }

  async #store(messages: readonly InboundMessage[]): Promise<void> {
    await this.beforeStore(messages);
    if (this.isUnavailable) throw new TroupeError('UNAVAILABLE', 'the store is not available');
    this.deliveries.push(...messages);
    for (const message of messages)
      if (!this.stored.has(message.key)) this.stored.set(message.key, message);
  }

  /** Starts with what is stored; `end` is set when the connection ends. */
  start(): void {
    this.end = undefined;
    this.#abort = new AbortController();
    const connection: Connection = {
      position: this.position,
      identity: this.identity,
      signal: this.#abort.signal,
      onConnected: (identity, name) => {
        if (identity !== this.identity) this.position = undefined;
        this.identity = identity;
        this.name = name;
        this.connections += 1;
        return Promise.resolve();
      },
      onPosition: (position) => {
        this.position = position;
        return Promise.resolve();
      },
    };
    this.#ending = this.account.start(connection).then((end) => (this.end = end));
  }

  async connected(): Promise<this> {
    this.start();
    await eventually(() => {
      if (!this.account.isConnected())
        throw new Error(`not connected: ${JSON.stringify(this.end)}`);
    });
    return this;
  }

  /** After the end of the connection, as the runtime does it. */
  async reconnected(): Promise<this> {
    await this.ended();
    return this.connected();
  }

  async ended(): Promise<ConnectOutput> {
    return eventually(() => {
      if (!this.end) throw new Error('the connection has not ended');
      return this.end;
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.account.stop();
    await this.#ending;
  }

  /** The stored messages. A connection that has ended is started again, as the runtime does. */
  async received(count: number): Promise<readonly InboundMessage[]> {
    return eventually(() => {
      if (this.stored.size < count && this.end?.isFinal === false) this.start();
      if (this.stored.size < count)
        throw new Error(`${this.stored.size} of ${count} messages: ${JSON.stringify(this.end)}`);
      return [...this.stored.values()];
    });
  }

  sendFile(piece: FilePiece): Promise<SendOutcome> {
    return this.account.sendFile!(piece, AbortSignal.timeout(20_000));
  }

  send(piece: Piece): Promise<SendOutcome> {
    return this.account.send(piece, AbortSignal.timeout(20_000));
  }
}

let pieces = 0;

export const filePieceOf = (chat: ChatRef, file: Partial<FilePiece['file']> = {}): FilePiece => ({
  id: `run-${++pieces}:message:0`,
  chat,
  file: {
    name: 'report.pdf',
    contentType: 'application/pdf',
    contents: Buffer.from('%PDF-1.7'),
    ...file,
  },
  attempt: 1,
  firstTriedAt: Date.now(),
});

export const pieceOf = (chat: ChatRef, text: string, more: Partial<Piece> = {}): Piece => ({
  id: `run-${++pieces}:block:0`,
  chat,
  text,
  plain: text,
  attempt: 1,
  firstTriedAt: Date.now(),
  ...more,
});

export type WebhookHost = {
  readonly url: string;
  /** requests go to this account from now on; undefined: the process is away */
  serve(account: AccountAdapter | undefined): void;
  close(): Promise<void>;
};

/** Passes HTTP requests to the webhook of an account, as the gateway does. */
export async function startWebhookHost(): Promise<WebhookHost> {
  let account: AccountAdapter | undefined;
  const server = createServer((incoming, response) => void pass(account, incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    serve: (served) => void (account = served),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function pass(
  account: AccountAdapter | undefined,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (!account) return void response.writeHead(503).end();
    const answer = await account.webhook!({
      method: incoming.method === 'GET' ? 'GET' : 'POST',
      query: new URL(incoming.url ?? '/', 'http://host').searchParams,
      header: (name) => incoming.headers[name.toLowerCase()] as string | undefined,
      body: Buffer.concat(chunks),
    });
    const contentType = answer.contentType ?? 'text/plain';
    response.writeHead(answer.status, { 'content-type': contentType }).end(answer.body ?? '');
  } catch (error) {
    response.writeHead(ERRORS[errorData(error).code].http).end();
  }
}
