/**
 * A local server with the Bot API of Telegram over HTTP: long polling with one poller per token,
 * webhooks with a secret, messages, edits, topics, files and HTML markup, and faults by command.
 * It stores updates until they are acknowledged by a higher offset, as Telegram does.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Update } from 'grammy/types';
import type { SentFile } from './forms.ts';
import { type Parameters, readRequest, type Uploads } from './telegram-request.ts';

/** What happens to the next request of a method. `after`: the request has taken effect. */
export type TelegramFault =
  | { readonly kind: 'rateLimit'; readonly retryAfter: number }
  | { readonly kind: 'error'; readonly when: 'before' | 'after'; readonly status?: number }
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  | { readonly kind: 'refuse'; readonly status: number; readonly description: string }
  /** accepted, never answered */
  | { readonly kind: 'silent' };

type Answer = { readonly status?: number } & Readonly<Record<string, unknown>>;
type Shown = {
  readonly id: string;
  text: string;
  readonly thread?: string;
  readonly file?: SentFile & { readonly kind: 'photo' | 'document' };
  edits: number;
};
type Webhook = {
  readonly url: string;
  readonly secret: string;
  busy: number;
  readonly most: number;
};
type Waiting = { readonly answer: (answer: Answer) => void };

const ok = (result: unknown): Answer => ({ ok: true, result });
const refused = (status: number, description: string, parameters?: object): Answer => ({
  ok: false,
  error_code: status,
  description,
  status,
  ...(parameters && { parameters }),
});

/** One bot. Its methods are named as those of the Bot API. */
export class TelegramBot {
  readonly token: string;
  readonly id: number;
  readonly username: string;
  /** every request in order, as `method` */
  readonly requests: string[] = [];
  readonly actions: Parameters[] = [];
  /** the menu, as `setMyCommands` set it */
  commands: unknown;
  isRevoked = false;
  #updates: Update[] = [];
  #nextUpdate = 1_000;
  #nextMessage = 1;
  #waiting: Waiting | undefined;
  #webhook: Webhook | undefined;
  readonly #shown = new Map<string, Shown[]>();
  readonly #faults = new Map<string, TelegramFault[]>();
  readonly #files = new Map<string, Uint8Array>();

  constructor(id: number, username: string) {
    this.id = id;
    this.username = username;
    this.token = `${id}:${username}-token`;
  }

  /** A person writes; missing fields get defaults of a direct message. Returns the update. */
  receive(message: object, field: 'message' | 'edited_message' = 'message'): Update {
    const from = { id: 42, is_bot: false, first_name: 'Pat', username: 'pat' };
    const chat = { id: from.id, type: 'private', first_name: 'Pat' };
    const fields = { message_id: this.#nextMessage++, date: 1_700_000_000, from, chat, ...message };
    return this.update({ [field]: fields });
  }

  update(fields: object): Update {
    const update = { update_id: this.#nextUpdate++, ...fields } as Update;
    this.deliver(update);
    return update;
  }

  /** Stores an update, also one that has been acknowledged already. */
  deliver(update: Update): void {
    this.#updates.push(update);
    this.#callWebhook();
    this.#waiting?.answer(ok(this.#updates.slice(0, 100)));
    this.#waiting = undefined;
  }

  /** As after a week without updates: the next update has this id. */
  restartUpdateIds(next: number): void {
    this.#nextUpdate = next;
  }

  addFile(id: string, bytes: Uint8Array): void {
    this.#files.set(id, bytes);
  }

  /** The messages of the bot in a chat, in order. */
  shown(chatId: string | number): readonly Shown[] {
    return this.#shown.get(String(chatId)) ?? [];
  }

  /** For the next requests of this method, in order. */
  fail(method: string, ...faults: readonly TelegramFault[]): void {
    this.#faults.set(method, [...(this.#faults.get(method) ?? []), ...faults]);
  }

  faultOf(method: string): TelegramFault | undefined {
    return this.#faults.get(method)?.shift();
  }

  /** Updates that are not acknowledged. */
  get pending(): number {
    return this.#updates.length;
  }

  get webhookUrl(): string | undefined {
    return this.#webhook?.url;
  }

  file(id: string): Uint8Array | undefined {
    return this.#files.get(id);
  }

  /** The answer to a method; undefined: no such method. */
  answer(
    method: string,
    parameters: Parameters,
    uploads: Uploads = {},
  ): Answer | Promise<Answer> | undefined {
    const methods: Readonly<Record<string, () => Answer | Promise<Answer>>> = {
      getMe: () => ok({ id: this.id, is_bot: true, first_name: 'Bot', username: this.username }),
      getUpdates: () => this.#getUpdates(parameters),
      setWebhook: () => this.#setWebhook(parameters),
      deleteWebhook: () => this.#deleteWebhook(),
      getWebhookInfo: () =>
        ok({ url: this.#webhook?.url ?? '', pending_update_count: this.#updates.length }),
      sendMessage: () => this.#sendMessage(parameters),
      sendPhoto: () => this.#sendFile('photo', parameters, uploads),
      sendDocument: () => this.#sendFile('document', parameters, uploads),
      editMessageText: () => this.#editMessageText(parameters),
      setMyCommands: () => ((this.commands = parameters['commands']), ok(true)),
      sendChatAction: () => (this.actions.push(parameters), ok(true)),
      getFile: () => this.#getFile(String(parameters['file_id'])),
    };
    return methods[method]?.();
  }

  #getUpdates({ offset, timeout, limit }: Parameters): Answer | Promise<Answer> {
    if (this.#webhook)
      return refused(409, "Conflict: can't use getUpdates method while webhook is active");
    this.#waiting?.answer(
      refused(
        409,
        'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
      ),
    );
    this.#waiting = undefined;
    const from = Number(offset ?? 0);
    this.#updates =
      from < 0 ? this.#updates.slice(from) : this.#updates.filter((one) => one.update_id >= from);
    const batch = this.#updates.slice(0, Number(limit ?? 100));
    if (batch.length > 0 || !timeout) return ok(batch);
    return new Promise((resolve) => {
      const waiting: Waiting = { answer: resolve };
      this.#waiting = waiting;
      setTimeout(() => {
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        resolve(ok([]));
      }, Number(timeout) * 1_000).unref();
    });
  }

  #setWebhook(parameters: Parameters): Answer {
    const { url, secret_token: secret = '', max_connections: most = 40 } = parameters;
    if (parameters['drop_pending_updates']) this.#updates = [];
    const webhook = { url: String(url), secret: String(secret), most: Number(most), busy: 0 };
    this.#webhook = url ? webhook : undefined;
    this.#callWebhook();
    return ok(true);
  }

  #deleteWebhook(): Answer {
    this.#webhook = undefined;
    return ok(true);
  }

  /** Posts waiting updates, `max_connections` at once, each until it is answered with 2xx. */
  #callWebhook(): void {
    const webhook = this.#webhook;
    if (!webhook) return;
    for (const update of this.#updates.slice(webhook.busy, webhook.most)) {
      webhook.busy += 1;
      void this.#call(webhook, update).finally(() => {
        webhook.busy -= 1;
        this.#callWebhook();
      });
    }
  }

  async #call(webhook: Webhook, update: Update): Promise<void> {
    while (this.#webhook === webhook) {
      const response = await fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-telegram-bot-api-secret-token': webhook.secret,
        },
        body: JSON.stringify(update),
      }).catch(() => undefined);
      if (response?.ok) {
        this.#updates = this.#updates.filter((one) => one !== update);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** It calls no webhook any more. */
  close(): void {
    this.#webhook = undefined;
  }

  #sendMessage(parameters: Parameters): Answer {
    const { text, parse_mode } = parameters;
    const problem = textProblem(String(text), parse_mode);
    return problem ?? this.#show(parameters, { text: String(text) });
  }

  /** Photos whose name begins with `wide` have dimensions that Telegram refuses. */
  #sendFile(kind: 'photo' | 'document', parameters: Parameters, uploads: Uploads): Answer {
    const file = uploads[kind];
    if (!file) return refused(400, `Bad Request: there is no ${kind} in the request`);
    if (kind === 'photo' && file.name.startsWith('wide'))
      return refused(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS');
    return this.#show(parameters, { text: '', file: { kind, ...file } });
  }

  #show(
    { chat_id, message_thread_id: topic }: Parameters,
    content: Pick<Shown, 'text' | 'file'>,
  ): Answer {
    const id = this.#nextMessage++;
    const chat = String(chat_id);
    const thread = topic === undefined ? {} : { thread: String(topic) };
    const list = this.#shown.get(chat) ?? [];
    list.push({ id: String(id), edits: 0, ...content, ...thread });
    this.#shown.set(chat, list);
    return ok({ message_id: id, date: 1_700_000_000, chat: { id: Number(chat) }, ...content });
  }

  #editMessageText({ chat_id, message_id, text, parse_mode }: Parameters): Answer {
    const shown = this.shown(String(chat_id)).find((one) => one.id === String(message_id));
    if (!shown) return refused(400, 'Bad Request: message to edit not found');
    const problem = textProblem(String(text), parse_mode);
    if (problem) return problem;
    if (shown.text === text)
      return refused(
        400,
        'Bad Request: message is not modified: specified new message content is exactly the same',
      );
    shown.text = String(text);
    shown.edits += 1;
    return ok({ message_id, date: 1_700_000_000, chat: { id: Number(chat_id) }, text });
  }

  #getFile(id: string): Answer {
    const bytes = this.#files.get(id);
    if (!bytes) return refused(400, 'Bad Request: invalid file_id');
    return ok({ file_id: id, file_size: bytes.length, file_path: `files/${id}` });
  }
}

const TAGS = /^(?:b|strong|i|em|u|ins|s|strike|del|code|pre|a|blockquote|tg-spoiler|span)$/;

function textProblem(text: string, parseMode: unknown): Answer | undefined {
  if (text === '') return refused(400, 'Bad Request: message text is empty');
  if (text.length > 4_096) return refused(400, 'Bad Request: message is too long');
  const why = parseMode === 'HTML' ? markupProblem(text) : undefined;
  return why === undefined ? undefined : refused(400, `Bad Request: can't parse entities: ${why}`);
}

function markupProblem(text: string): string | undefined {
  const open: string[] = [];
  for (const [, slash, tag = ''] of text.matchAll(/<(\/?)([^\s>]*)[^>]*>?/g)) {
    if (!TAGS.test(tag)) return `Unsupported start tag "${tag}"`;
    if (!slash) open.push(tag);
    else if (open.pop() !== tag) return `Unmatched end tag "${tag}"`;
  }
  return open.length > 0 ? `Can't find end tag corresponding to start tag "${open[0]}"` : undefined;
}

export type TelegramServer = {
  /** for `apiUrl` of an account, or `apiRoot` of grammY */
  readonly apiUrl: string;
  addBot(username?: string): TelegramBot;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
};

export const startTelegramServer = async (): Promise<TelegramServer> => {
  const bots = new Map<string, TelegramBot>();
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    serve(bots, incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    addBot: (username = `bot_${bots.size + 1}`) => {
      const bot = new TelegramBot(700_000 + bots.size, username);
      bots.set(bot.token, bot);
      return bot;
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const bot of bots.values()) bot.close();
        cut();
      }),
  };
};

async function serve(
  bots: ReadonlyMap<string, TelegramBot>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://server');
  const [, isFile, token = '', rest = ''] =
    /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
  const bot = bots.get(decodeURIComponent(token));
  if (!bot) return respond(response, refused(404, 'Not Found'));
  if (bot.isRevoked) return respond(response, refused(401, 'Unauthorized'));
  if (isFile) return void response.end(bot.file(rest.replace('files/', '')) ?? '');
  const { parameters, uploads } = await readRequest(incoming, url);
  bot.requests.push(rest);
  const fault = bot.faultOf(rest);
  if (fault && isBefore(fault)) return fail(fault, response);
  const answer = await bot.answer(rest, parameters, uploads);
  if (fault) return fail(fault, response);
  respond(response, answer ?? refused(404, 'Not Found'));
}

const isBefore = (fault: TelegramFault): boolean =>
  fault.kind === 'rateLimit' ||
  fault.kind === 'refuse' ||
  (fault.kind !== 'silent' && fault.when === 'before');

function fail(fault: TelegramFault, response: ServerResponse): void {
  switch (fault.kind) {
    case 'rateLimit': {
      const { retryAfter: seconds } = fault;
      const why = `Too Many Requests: retry after ${seconds}`;
      return respond(response, refused(429, why, { retry_after: seconds }));
    }
    case 'error':
      return respond(response, refused(fault.status ?? 500, 'Internal Server Error'));
    case 'cut':
      return void response.socket?.destroy();
    case 'refuse':
      return respond(response, refused(fault.status, fault.description));
    case 'silent':
  }
}

function respond(response: ServerResponse, { status = 200, ...body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
