/**
 * The Discord adapter: a bot on the gateway (@discordjs/ws), with requests by @discordjs/rest.
 *
 * A nonce makes a send idempotent for some minutes. After that, the nonce in the latest messages of
 * the channel shows whether an earlier attempt was accepted.
 */
import { createHash } from 'node:crypto';
import type { REST } from '@discordjs/rest';
import { type APIMessage, type APIUser, GatewayIntentBits } from 'discord-api-types/v10';
import type {
  ChatRef,
  ConnectOutput,
  InboundMedia,
  SendOutcome,
} from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { LazyValue } from '../../../protocols/lazy-value.ts';
import type { Config } from '../../../runtime/config/index.ts';
import type {
  Abilities,
  AccountAdapter,
  AccountContext,
  AccountStatus,
  ChannelAdapter,
  Connection,
  FilePiece,
  Piece,
  PieceRef,
} from '../adapter.ts';
import { download, tooLarge } from '../network.ts';
import { STOPPED } from '../webhook-requests.ts';
import { endOf, isTokenRefused, outcomeOf, SERVICE } from './failures.ts';
import { receive } from './gateway.ts';
import { Inbox, isPosition, type Position } from './inbox.ts';
import { Places } from './places.ts';

type DiscordSettings = NonNullable<Config['channels']['discord']>['accounts'][string];

type DiscordTimes = {
  /** limit for the first frame of the gateway; half of it for the handshake of its socket */
  readonly helloMs: number;
  /** limit from a lost connection to a usable one */
  readonly readyMs: number;
  /** limit of a request */
  readonly requestMs: number;
};

const TIMES: DiscordTimes = { helloMs: 10_000, readyMs: 30_000, requestMs: 15_000 };
const API_URL = 'https://discord.com/api';
const MIB = 1024 * 1024;

/** MessageContent must be enabled in the Developer Portal. */
const INTENTS = (GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.DirectMessageReactions |
  GatewayIntentBits.DirectMessageTyping |
  GatewayIntentBits.MessageContent) as GatewayIntentBits;

const abilities: Abilities = {
  dialect: 'discord',
  charactersMax: 2_000,
  edit: true,
  typingEveryMs: 9_000,
  threads: true,
  // "a few minutes" by Discord's documentation
  idempotentSendMs: 120_000,
  reconcile: true,
  media: { bytesMax: 100 * MIB },
  // of one request, in a server without boosts
  files: { bytesMax: 10 * MIB, reconcile: true },
  // five messages in five seconds in a channel, 50 requests a second in all
  pace: { ofChatMs: 1_000, ofAccountMs: 20 },
};

const PAGE = 100;
const PAGES_MAX = 5;
/** The clocks of this machine and of Discord may differ by this much. */
const CLOCK_MS_MAX = 10 * 60_000;
const EPOCH_MS = 1_420_070_400_000n;

class DiscordAccount implements AccountAdapter {
  readonly #context: AccountContext<DiscordSettings>;
  readonly #times: DiscordTimes;
  #stop = new AbortController();
  readonly #rest = new LazyValue(async (): Promise<REST> => {
    const { REST: Client } = await import('@discordjs/rest');
    const { token, apiUrl: api = API_URL } = this.#context.settings;
    return new Client({
      api: api.replace(/\/+$/, ''),
      version: '10',
      retries: 0,
      offset: 0,
      timeout: this.#times.requestMs,
      rejectOnRateLimit: () => true,
    }).setToken(token.reveal());
  });
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(context: AccountContext<DiscordSettings>, times: DiscordTimes) {
    this.#context = context;
    this.#times = times;
  }

  async start(connection: Connection): Promise<ConnectOutput> {
    this.#stop = new AbortController();
    const signal = AbortSignal.any([connection.signal, this.#stop.signal]);
    try {
      return await this.#receive(connection, signal);
    } catch (error) {
      this.#forgetRefusedToken(error);
      return signal.aborted ? STOPPED : endOf(error);
    } finally {
      this.#isConnected = false;
    }
  }

  async #receive(connection: Connection, signal: AbortSignal): Promise<never> {
    const rest = await this.#rest.get();
    const bot = (await rest.get('/users/@me', { signal })) as APIUser;
    const failure = new AbortController();
    const position = positionOf(connection, bot);
    let isAnnounced = false;
    const inbox = new Inbox({
      rest,
      places: new Places(rest, bot.id),
      botId: bot.id,
      position,
      onSession: async () => {
        if (!isAnnounced) await connection.onConnected(bot.id, `@${bot.username}`);
        isAnnounced = true;
        this.#isConnected = true;
      },
      onMessages: (messages) => this.#context.onMessages(messages),
      onPosition: (stored) => connection.onPosition(stored),
      onTyping: (chat) => this.#context.onTyping(chat),
      onFailure: (error) => failure.abort(error),
    });
    return receive({
      rest,
      token: this.#context.settings.token.reveal(),
      intents: INTENTS,
      session: position.session,
      clock: this.#context.clock,
      signal: AbortSignal.any([signal, failure.signal]),
      ...this.#times,
      onReady: (isNew, session) => inbox.add({ isNew, session }),
      onDispatch: (event) => {
        this.#answered();
        inbox.add({ event });
      },
      onClosed: () => void (this.#isConnected = false),
      onPong: () => this.#answered(),
    });
  }

  #answered(): void {
    this.#lastPongAt = this.#context.clock.wallMs();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const rest = await this.#rest.made?.catch(() => undefined);
    this.#rest.forget();
    rest?.clearHandlerSweeper();
    rest?.clearHashSweeper();
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  getStatus(): AccountStatus {
    return { isConnected: this.#isConnected, ...defined({ lastPongAt: this.#lastPongAt }) };
  }

  send(piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    const body = { ...contentOf(piece.text), ...onceOf(piece) };
    return this.#outcomeOf(
      async (rest) => (await rest.post(messagesOf(piece.chat), { body, signal })) as APIMessage,
    );
  }

  sendFile(piece: FilePiece, signal: AbortSignal): Promise<SendOutcome> {
    const { name, contentType, contents } = piece.file;
    const files = [{ name, contentType, data: contents }];
    const options = { body: onceOf(piece), files, signal };
    return this.#outcomeOf(
      async (rest) => (await rest.post(messagesOf(piece.chat), options)) as APIMessage,
    );
  }

  edit(messageId: string, piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    const path = `${messagesOf(piece.chat)}/${messageId}` as const;
    const body = contentOf(piece.text);
    return this.#outcomeOf(
      async (rest) => (await rest.patch(path, { body, signal })) as APIMessage,
    );
  }

  async #outcomeOf(request: (rest: REST) => Promise<APIMessage>): Promise<SendOutcome> {
    try {
      const { id } = await request(await this.#rest.get());
      return { status: 'sent', messageId: id };
    } catch (error) {
      this.#forgetRefusedToken(error);
      return outcomeOf(error);
    }
  }

  /** Looks for the nonce in the messages since the first attempt. */
  async reconcile(piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    const nonce = nonceOf(piece.id);
    const since = snowflakeOf(piece.firstTriedAt - CLOCK_MS_MAX);
    try {
      const rest = await this.#rest.get();
      let before: string | undefined;
      for (let pages = 0; pages < PAGES_MAX; pages++) {
        const query = new URLSearchParams({ limit: String(PAGE), ...defined({ before }) });
        const path = messagesOf(piece.chat);
        const page = (await rest.get(path, { query, signal })) as APIMessage[];
        const found = page.find((message) => message.nonce === nonce);
        if (found) return { status: 'sent', messageId: found.id };
        before = page.at(-1)?.id;
        // without the right to read the history, Discord answers with an empty page
        if (before === undefined && pages === 0) return unreadable;
        if (before === undefined || page.length < PAGE || BigInt(before) < since) return absent;
      }
      return unreadable;
    } catch (error) {
      this.#forgetRefusedToken(error);
      return { status: 'unknown', error: endOf(error).error };
    }
  }

  async typing(chat: ChatRef, signal: AbortSignal): Promise<void> {
    try {
      const rest = await this.#rest.get();
      await rest.post(`/channels/${channelOf(chat)}/typing`, { signal });
    } catch (error) {
      // the indicator is repeated every few seconds, and nothing depends on it
      this.#forgetRefusedToken(error);
    }
  }

  download(media: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    const bytesMax = Math.min(abilities.media!.bytesMax, this.#context.settings.mediaBytesMax);
    if ((media.bytes ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax));
    return download({ service: SERVICE, url: media.id, bytesMax, signal });
  }

  /** The client has removed the token, and would refuse requests that Discord might accept. */
  #forgetRefusedToken(error: unknown): void {
    if (isTokenRefused(error)) this.#rest.forget();
  }
}

const positionOf = ({ identity, position }: Connection, bot: APIUser): Position =>
  identity === bot.id && isPosition(position) ? position : { seen: {} };

const channelOf = ({ id, thread }: ChatRef): string => thread ?? id;
const messagesOf = (chat: ChatRef) => `/channels/${channelOf(chat)}/messages` as const;

/** Names in the text of a model notify no one. */
const contentOf = (content: string) => ({
  content,
  allowed_mentions: { parse: [], replied_user: false },
});

/** The message is posted once, and as a reply to `replyTo`. */
const onceOf = ({ id, replyTo }: PieceRef) => ({
  nonce: nonceOf(id),
  enforce_nonce: true,
  ...(replyTo !== undefined && {
    message_reference: { message_id: replyTo, fail_if_not_exists: false },
  }),
});

/** At most 25 characters. */
const nonceOf = (pieceId: string): string =>
  createHash('sha256').update(pieceId).digest('base64url').slice(0, 24);

/** The smallest id of a message of this time, epoch milliseconds. */
const snowflakeOf = (atMs: number): bigint => (BigInt(Math.trunc(atMs)) - EPOCH_MS) << 22n;

const absent: SendOutcome = {
  status: 'not_sent',
  error: { code: 'UNAVAILABLE', message: 'Discord has not accepted the earlier attempt' },
};
const unreadable: SendOutcome = {
  status: 'unknown',
  error: {
    code: 'UNAVAILABLE',
    message:
      'the messages since the first attempt cannot be read. Give the role of the bot the right ' +
      '"Read Message History" there',
  },
};
/** The adapter, with other times than those of production. */
export const discordWithin = (times: DiscordTimes): ChannelAdapter<DiscordSettings> => ({
  id: 'discord',
  abilities,
  create: (context) => new DiscordAccount(context, times),
});

export const discord = discordWithin(TIMES);
