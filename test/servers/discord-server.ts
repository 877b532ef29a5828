/**
 * A local server with Discord's REST API and gateway: channels, threads, direct messages, nonces,
 * history, edits, attachments and rate limits, with faults by command. `discord-gateway.ts` has the
 * WebSocket.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DiscordGateway } from './discord-gateway.ts';
import { formOf, type SentFile, sentFileOf } from './forms.ts';

/** What happens to the next request of a route. `after`: the request has taken effect. */
export type DiscordFault =
  | { readonly kind: 'rateLimit'; readonly seconds: number }
  | { readonly kind: 'error'; readonly when: 'before' | 'after'; readonly status?: number }
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  | { readonly kind: 'refuse'; readonly status: number; readonly code: number }
  /** accepted, never answered */
  | { readonly kind: 'silent' };

type Fields = Readonly<Record<string, unknown>>;
type Message = Fields & {
  readonly id: string;
  readonly channel_id: string;
  content: string;
  readonly file?: SentFile;
};
type Channel = {
  readonly id: string;
  readonly type: number;
  readonly guild_id?: string;
  readonly parent_id?: string;
  readonly name?: string;
  /** the person of a direct message channel; default `pat` */
  readonly author?: object;
  readonly messages: Message[];
};
type Answer = { readonly status: number; readonly body?: unknown };
type Request = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Fields;
  readonly file?: SentFile;
};

const DM = 1;
const TEXT = 0;
const THREAD = 11;
const EPOCH_MS = 1_420_070_400_000n;
let ids = 0n;
/** Ids are times, as those of Discord. */
const newId = (): string =>
  String(((BigInt(Date.now()) - EPOCH_MS) << 22n) + (ids++ & ((1n << 22n) - 1n)));

const userOf = (id: string, username: string, bot = false) => ({
  id,
  username,
  global_name: username,
  discriminator: '0',
  avatar: null,
  ...(bot && { bot }),
});

/** One bot in one guild, with a text channel, a thread in it, and a direct message channel. */
export class DiscordBot {
  readonly id = newId();
  readonly token = `${this.id}.token`;
  readonly user = userOf(this.id, 'troupe', true);
  readonly pat = userOf(newId(), 'pat');
  readonly guildId = newId();
  readonly roleId = newId();
  readonly dm: Channel = { id: newId(), type: DM, messages: [] };
  readonly text = this.#channel(TEXT, 'general');
  readonly thread: Channel = { ...this.#channel(THREAD, 'topic'), parent_id: this.text.id };
  readonly gateway: DiscordGateway;
  /** of POST and PATCH requests, in order */
  readonly bodies: Fields[] = [];
  isRevoked = false;
  /** Discord answers with an empty history */
  hidesHistory = false;
  readonly #channels = new Map([this.dm, this.text, this.thread].map((one) => [one.id, one]));
  readonly #faults = new Map<string, DiscordFault[]>();
  readonly files = new Map<string, Uint8Array>();

  constructor() {
    this.gateway = new DiscordGateway({
      isToken: (token) => token === this.token && !this.isRevoked,
      ready: () => ({
        user: this.user,
        guilds: [{ id: this.guildId, unavailable: true }],
        application: { id: this.id, flags: 0 },
      }),
      after: () => [{ t: 'GUILD_CREATE', d: this.#guild() }],
    });
  }

  #channel(type: number, name: string): Channel {
    return { id: newId(), type, name, guild_id: this.guildId, messages: [] };
  }

  #guild(): object {
    return {
      id: this.guildId,
      name: 'Team',
      owner_id: this.pat.id,
      roles: [{ id: this.roleId, name: 'troupe', permissions: '0', tags: { bot_id: this.id } }],
      channels: [shownChannel(this.text)],
      threads: [shownChannel(this.thread)],
      members: [],
      emojis: [],
      features: [],
      voice_states: [],
      presences: [],
      stage_instances: [],
      stickers: [],
      guild_scheduled_events: [],
    };
  }

  /** Direct messages with another person. */
  addDm(name: string): Channel {
    const channel: Channel = {
      id: newId(),
      type: DM,
      author: userOf(newId(), name),
      messages: [],
    };
    this.#channels.set(channel.id, channel);
    return channel;
  }

  /** A person writes; other fields replace the defaults. Only `store`: no event follows. */
  receive(channel: Channel, fields: Fields, only?: 'store'): Message {
    const message = this.#add(channel, { author: channel.author ?? this.pat, ...fields });
    if (!only) this.dispatchMessage(message);
    return message;
  }

  dispatchMessage(message: Message): void {
    const { guild_id, type } = this.#channels.get(message.channel_id)!;
    const facts = { channel_type: type, ...(guild_id !== undefined && { guild_id }) };
    this.gateway.dispatch({ t: 'MESSAGE_CREATE', d: { ...message, ...facts } });
  }

  #add(channel: Channel, fields: Fields): Message {
    const message: Message = {
      id: newId(),
      channel_id: channel.id,
      content: '',
      type: 0,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      pinned: false,
      mention_everyone: false,
      mentions: [],
      mention_roles: [],
      attachments: [],
      embeds: [],
      ...fields,
    };
    channel.messages.push(message);
    return message;
  }

  /** The messages of the bot in a channel, in order. */
  shown(channelId: string): readonly Message[] {
    const messages = this.#channels.get(channelId)?.messages ?? [];
    return messages.filter((one) => (one['author'] as { id: string }).id === this.id);
  }

  /** For the next requests of this route, such as `POST messages`, in order. */
  fail(route: string, ...faults: readonly DiscordFault[]): void {
    this.#faults.set(route, [...(this.#faults.get(route) ?? []), ...faults]);
  }

  faultOf({ method, path }: Request): DiscordFault | undefined {
    const route = [...this.#faults.keys()].find((key) => {
      const [verb, name = ''] = key.split(' ');
      return verb === method && path.includes(name);
    });
    return route === undefined ? undefined : this.#faults.get(route)?.shift();
  }

  answer(request: Request): Answer {
    const { method, path } = request;
    if (method !== 'GET') this.bodies.push(request.body);
    const [, channelId = '', rest = ''] = /^\/channels\/(\d+)(.*)$/.exec(path) ?? [];
    const channel = this.#channels.get(channelId);
    if (path === '/users/@me') return { status: 200, body: this.user };
    if (path === '/gateway/bot') return { status: 200, body: this.#gatewayInformation() };
    if (path.startsWith('/guilds/')) return { status: 200, body: [] };
    if (!channel) return refused(404, 10_003, 'Unknown Channel');
    if (rest === '') return { status: 200, body: shownChannel(channel) };
    if (rest === '/typing') return { status: 204 };
    if (rest === '/messages' && method === 'POST') return this.#post(channel, request);
    if (rest === '/messages') return { status: 200, body: this.#history(channel, request.query) };
    return this.#patch(channel, rest.replace('/messages/', ''), request.body);
  }

  #gatewayInformation(): object {
    const limit = { total: 1_000, remaining: 1_000, reset_after: 0, max_concurrency: 1 };
    return { url: this.gateway.url, shards: 1, session_start_limit: limit };
  }

  #post(channel: Channel, { body, file }: Request): Answer {
    const { content = '', nonce, enforce_nonce: isOnce, message_reference } = body;
    const problem = file ? undefined : contentProblem(content);
    if (problem) return problem;
    const same = isOnce && this.shown(channel.id).find((one) => one['nonce'] === nonce);
    if (same) return { status: 200, body: same };
    const fields = { author: this.user, content, nonce, message_reference, ...(file && { file }) };
    const message = this.#add(channel, fields);
    this.dispatchMessage(message);
    return { status: 200, body: message };
  }

  #patch(channel: Channel, id: string, { content }: Fields): Answer {
    const message = this.shown(channel.id).find((one) => one.id === id);
    if (!message) return refused(404, 10_008, 'Unknown Message');
    const problem = contentProblem(content);
    if (problem) return problem;
    message.content = content as string;
    return { status: 200, body: message };
  }

  /** The newest first. With `after`, the oldest of those after it. */
  #history({ messages }: Channel, query: URLSearchParams): readonly Message[] {
    if (this.hidesHistory) return [];
    const limit = Number(query.get('limit') ?? 50);
    const after = query.get('after');
    const before = query.get('before');
    const newer = (one: Message) => after === null || BigInt(one.id) > BigInt(after);
    const older = (one: Message) => before === null || BigInt(one.id) < BigInt(before);
    const found = messages.filter((one) => newer(one) && older(one));
    return (after === null ? found.slice(-limit) : found.slice(0, limit)).toReversed();
  }
}

const shownChannel = ({ messages: _, ...channel }: Channel): object => ({
  ...channel,
  ...(channel.type === THREAD && { thread_metadata: { archived: false }, owner_id: '1' }),
});

const refused = (status: number, code: number, message: string): Answer => ({
  status,
  body: { code, message },
});

function contentProblem(content: unknown): Answer | undefined {
  if (typeof content !== 'string' || content === '')
    return refused(400, 50_006, 'Cannot send an empty message');
  return content.length > 2_000 ? refused(400, 50_035, 'Invalid Form Body') : undefined;
}

export type DiscordServer = {
  addBot(): DiscordBot;
  /** for `apiUrl` of an account */
  readonly apiUrl: string;
  readonly url: string;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
};

export const startDiscordServer = async (): Promise<DiscordServer> => {
  const bots: DiscordBot[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    serve(bots, incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const [, index = ''] = /^\/gateway\/(\d+)/.exec(request.url ?? '') ?? [];
    bots[Number(index)]?.gateway.upgrade(request, socket, head);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    addBot: () => {
      const bot = new DiscordBot();
      bot.gateway.url = `ws://${host}/gateway/${bots.length}`;
      bots.push(bot);
      return bot;
    },
    url: `http://${host}`,
    apiUrl: `http://${host}/api`,
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
};

async function serve(
  bots: readonly DiscordBot[],
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'http://server');
  const file = bots.map(({ files }) => files.get(url.pathname)).find((one) => one !== undefined);
  if (file) return void response.end(file);
  const request: Request = {
    method: incoming.method ?? 'GET',
    path: url.pathname.replace('/api/v10', ''),
    query: url.searchParams,
    ...(await contentOf(incoming)),
  };
  const bot = bots.find(({ token }) => incoming.headers.authorization === `Bot ${token}`);
  if (!bot || bot.isRevoked) return respond(response, refused(401, 0, '401: Unauthorized'));
  const fault = bot.faultOf(request);
  if (fault && isBefore(fault)) return fail(fault, response);
  const answer = bot.answer(request);
  if (fault) return fail(fault, response);
  respond(response, answer);
}

async function contentOf(incoming: IncomingMessage): Promise<Pick<Request, 'body' | 'file'>> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { 'content-type': type = '' } = incoming.headers;
  if (!type.startsWith('multipart/form-data'))
    return { body: body.length === 0 ? {} : (JSON.parse(body.toString()) as Fields) };
  const form = await formOf(type, body);
  return {
    body: JSON.parse((form.get('payload_json') ?? '{}') as string) as Fields,
    file: await sentFileOf(form.get('files[0]') as File),
  };
}

const isBefore = (fault: DiscordFault): boolean =>
  fault.kind === 'rateLimit' ||
  fault.kind === 'refuse' ||
  (fault.kind !== 'silent' && fault.when === 'before');

function fail(fault: DiscordFault, response: ServerResponse): void {
  switch (fault.kind) {
    case 'rateLimit':
      response.setHeader('retry-after', String(fault.seconds));
      response.setHeader('x-ratelimit-scope', 'user');
      return respond(response, {
        status: 429,
        body: { message: 'You are being rate limited.', retry_after: fault.seconds, global: false },
      });
    case 'error':
      return respond(response, { status: fault.status ?? 500, body: { message: 'failed' } });
    case 'cut':
      return void response.socket?.destroy();
    case 'refuse':
      return respond(response, refused(fault.status, fault.code, 'refused'));
    case 'silent':
  }
}

function respond(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
