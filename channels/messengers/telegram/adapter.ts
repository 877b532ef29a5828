/**
 * The Telegram adapter: a bot of the Bot API, by long polling or by a webhook.
 *
 * grammY sends the requests and has the types. Its `Bot` is not used, because it acknowledges
 * updates that are not stored yet. Telegram has no idempotent send and no way to look up a sent
 * message, so a lost answer stays unknown; edits can be repeated.
 */
import type { Api } from 'grammy';
import type { Update } from 'grammy/types';
import type {
  ChatRef,
  ConnectOutput,
  InboundMedia,
  InboundMessage,
  SendOutcome,
} from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Config } from '../../../runtime/config/index.ts';
import { COMMANDS } from '../../commands/parse.ts';
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
  WebhookRequest,
  WebhookResponse,
} from '../adapter.ts';
import { download, tooLarge } from '../network.ts';
import { STOPPED } from '../webhook-requests.ts';
import { apiSignal, openClient } from './client.ts';
import {
  endOf,
  hasUnreadableMarkup,
  hasUnreadablePhoto,
  isUnchanged,
  outcomeOf,
  SERVICE,
} from './failures.ts';
import { type Bot, inboundOf } from './inbound.ts';
import { isPosition, latestPosition, poll, type Position } from './polling.ts';
import { register, verifiedUpdate, watch, type Webhook } from './webhook.ts';

type TelegramSettings = NonNullable<Config['channels']['telegram']>['accounts'][string];

type TelegramTimes = {
  /** how long Telegram waits for an update before it answers, seconds */
  readonly waitSeconds: number;
  /** limit of any request; more than `waitSeconds` */
  readonly requestSeconds: number;
  readonly conflictPauseMs: number;
  /** between two checks that the webhook is registered */
  readonly watchMs: number;
};

const TIMES: TelegramTimes = {
  waitSeconds: 25,
  requestSeconds: 45,
  conflictPauseMs: 3_000,
  watchMs: 60_000,
};
const API_URL = 'https://api.telegram.org';
const MIB = 1024 * 1024;
const PHOTO_BYTES_MAX = 10 * MIB;

const abilities: Abilities = {
  dialect: 'telegram-html',
  // 4,096 after the markup is read; less, so that no way of counting exceeds it
  charactersMax: 4_000,
  edit: true,
  typingEveryMs: 4_500,
  threads: true,
  reconcile: false,
  media: { bytesMax: 20 * MIB },
  files: { bytesMax: 50 * MIB, reconcile: false },
  // about one message a second in a chat, 30 a second in all
  pace: { ofChatMs: 1_000, ofAccountMs: 34 },
};

class TelegramAccount implements AccountAdapter {
  readonly #context: AccountContext<TelegramSettings>;
  readonly #times: TelegramTimes;
  #stop = new AbortController();
  #api: Promise<Api> | undefined;
  #bot: Bot | undefined;
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(context: AccountContext<TelegramSettings>, times: TelegramTimes) {
    this.#context = context;
    this.#times = times;
  }

  async start(connection: Connection): Promise<ConnectOutput> {
    this.#stop = new AbortController();
    const signal = AbortSignal.any([connection.signal, this.#stop.signal]);
    try {
      return await this.#receive(connection, signal);
    } catch (error) {
      return signal.aborted ? STOPPED : endOf(error);
    } finally {
      this.#isConnected = false;
    }
  }

  async #receive(connection: Connection, signal: AbortSignal): Promise<never> {
    const api = await this.#client();
    const bot = (this.#bot = await api.getMe(apiSignal(signal)));
    const webhook = this.#webhook();
    if (webhook) return this.#serve(api, bot, webhook, connection, signal);
    // a webhook that is left from earlier would refuse every `getUpdates`
    await api.deleteWebhook({}, apiSignal(signal));
    const position = await this.#position(api, bot, connection, signal);
    await this.#connected(connection, bot);
    this.#showCommands(api, signal);
    await connection.onPosition(position);
    return poll(
      {
        api,
        clock: this.#context.clock,
        connection,
        signal,
        waitSeconds: this.#times.waitSeconds,
        conflictPauseMs: this.#times.conflictPauseMs,
        inboundOf: (update) => this.#inbound(update, bot),
        onMessages: (messages) => this.#context.onMessages(messages),
        onAnswer: () => this.#answered(),
      },
      position,
    );
  }

  async #serve(
    api: Api,
    bot: Bot,
    webhook: Webhook,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<never> {
    const isNew = connection.identity !== String(bot.id);
    await register(api, webhook, { isNew }, signal);
    await this.#connected(connection, bot);
    this.#showCommands(api, signal);
    const { clock, log } = this.#context;
    const onAnswer = (lastError?: string) => {
      this.#answered();
      if (lastError !== undefined) log.warn({ lastError }, 'Telegram cannot call the webhook');
    };
    const { watchMs } = this.#times;
    return watch({ api, clock, url: webhook.url, watchMs, signal, onAnswer });
  }

  /** The menu of the bot. Nothing waits for it. */
  #showCommands(api: Api, signal: AbortSignal): void {
    const menu = COMMANDS.map(({ name, does }) => ({ command: name, description: does }));
    api.setMyCommands(menu, {}, apiSignal(signal)).catch((error: unknown) => {
      const { message } = endOf(error).error;
      if (!signal.aborted) this.#context.log.warn({ why: message }, 'Telegram shows no commands');
    });
  }

  #webhook(): Webhook | undefined {
    const { webhookSecret: secret, webhookUrl: url } = this.#context.settings;
    if (!secret && !url) return undefined;
    if (secret && url) return { secret, url };
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'a webhook needs webhookUrl and webhookSecret: set the other one, or remove both to poll',
    );
  }

  async #position(
    api: Api,
    { id }: Bot,
    { identity, position }: Connection,
    signal: AbortSignal,
  ): Promise<Position> {
    const { clock } = this.#context;
    if (identity !== String(id)) return latestPosition(api, clock, signal);
    // without a position: the bot had a webhook, and these updates were not delivered to it
    return isPosition(position) ? position : { offset: 0, at: clock.wallMs() };
  }

  async #connected(connection: Connection, { id, username }: Bot): Promise<void> {
    this.#isConnected = true;
    this.#answered();
    await connection.onConnected(String(id), `@${username}`);
  }

  /** One that cannot be read is skipped, so that it does not block those after it. */
  #inbound(update: Update, bot: Bot): InboundMessage | undefined {
    try {
      return inboundOf(update, bot);
    } catch (error) {
      const details = { error: String(error), updateId: update.update_id };
      this.#context.log.warn(details, 'an update of Telegram has an unknown form and is skipped');
      return undefined;
    }
  }

  #answered(): void {
    this.#lastPongAt = this.#context.clock.wallMs();
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return Promise.resolve();
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  getStatus(): AccountStatus {
    const lastPongAt = this.#lastPongAt;
    return { isConnected: this.#isConnected, ...defined({ lastPongAt }) };
  }

  send(piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    const options = placeOf(piece);
    return this.#withMarkup(piece, async (api, text, markup) => {
      const sent = await api.sendMessage(
        piece.chat.id,
        text,
        { ...options, ...markup },
        apiSignal(signal),
      );
      return String(sent.message_id);
    });
  }

  /** A photo that Telegram cannot show is sent as a document: nothing was accepted. */
  async sendFile(piece: FilePiece, signal: AbortSignal): Promise<SendOutcome> {
    const { chat, file } = piece;
    try {
      const api = await this.#client();
      const { InputFile } = await import('grammy');
      const input = () => new InputFile(file.contents, fileNameOf(file));
      const options = placeOf(piece);
      const asDocument = () => api.sendDocument(chat.id, input(), options, apiSignal(signal));
      const asPhoto = () => api.sendPhoto(chat.id, input(), options, apiSignal(signal));
      const { message_id } = isPhoto(file)
        ? await asPhoto().catch((error: unknown) => {
            if (hasUnreadablePhoto(error)) return asDocument();
            throw error;
          })
        : await asDocument();
      return { status: 'sent', messageId: String(message_id) };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  edit(messageId: string, piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    return this.#withMarkup(piece, async (api, text, markup) => {
      await api
        .editMessageText(piece.chat.id, Number(messageId), text, markup, apiSignal(signal))
        .catch((error: unknown) => {
          if (!isUnchanged(error)) throw error;
        });
      return messageId;
    });
  }

  /** Sends once more without markup when Telegram cannot read it: nothing was accepted. */
  async #withMarkup(piece: Piece, request: Request): Promise<SendOutcome> {
    try {
      const api = await this.#client();
      const messageId = await request(api, piece.text, { parse_mode: 'HTML' }).catch(
        (error: unknown) => {
          if (hasUnreadableMarkup(error)) return request(api, piece.plain, {});
          throw error;
        },
      );
      return { status: 'sent', messageId };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  async typing(chat: ChatRef, signal: AbortSignal): Promise<void> {
    try {
      const api = await this.#client();
      await api.sendChatAction(chat.id, 'typing', threadOf(chat), apiSignal(signal));
    } catch {
      // the indicator is repeated every few seconds, and nothing depends on it
    }
  }

  async download(media: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    const bytesMax = Math.min(abilities.media!.bytesMax, this.#context.settings.mediaBytesMax);
    if ((media.bytes ?? 0) > bytesMax) throw tooLarge(bytesMax);
    const path = await this.#filePath(media.id, signal);
    const url = `${this.#apiRoot()}/file/bot${this.#context.settings.token.reveal()}/${path}`;
    return download({ service: SERVICE, url, bytesMax, signal });
  }

  async #filePath(fileId: string, signal: AbortSignal): Promise<string> {
    try {
      const { file_path: path } = await (await this.#client()).getFile(fileId, apiSignal(signal));
      if (path !== undefined) return path;
    } catch (error) {
      throw TroupeError.from(endOf(error).error);
    }
    throw new TroupeError('NOT_FOUND', 'Telegram no longer has the file');
  }

  async webhook(request: WebhookRequest): Promise<WebhookResponse> {
    const webhook = this.#webhook();
    if (!webhook) throw new TroupeError('UNAUTHORIZED', 'the account polls: it has no webhook');
    const update = verifiedUpdate(request, webhook.secret);
    const message = this.#inbound(update, await this.#self());
    if (message) await this.#context.onMessages([message]);
    return { status: 200 };
  }

  /** @throws TroupeError UNAVAILABLE, UNAUTHORIZED */
  async #self(): Promise<Bot> {
    try {
      this.#bot ??= await (await this.#client()).getMe();
      return this.#bot;
    } catch (error) {
      throw TroupeError.from(endOf(error).error);
    }
  }

  #client(): Promise<Api> {
    this.#api ??= openClient({
      token: this.#context.settings.token.reveal(),
      apiRoot: this.#apiRoot(),
      timeoutSeconds: this.#times.requestSeconds,
    });
    return this.#api;
  }

  #apiRoot(): string {
    return (this.#context.settings.apiUrl ?? API_URL).replace(/\/+$/, '');
  }
}

/** Sends `text` and resolves to the id of the message. */
type Request = (api: Api, text: string, markup: { parse_mode?: 'HTML' }) => Promise<string>;

const threadOf = ({ thread }: ChatRef): { message_thread_id?: number } =>
  thread === undefined ? {} : { message_thread_id: Number(thread) };

const placeOf = ({ chat, replyTo }: PieceRef) => ({
  ...threadOf(chat),
  ...(replyTo !== undefined && {
    reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
  }),
});

/** grammY writes it into a header without quotes. */
const fileNameOf = ({ name }: FilePiece['file']): string => name.replaceAll(/[";]/g, '_');

const isPhoto = ({ contentType, contents }: FilePiece['file']): boolean =>
  (contentType === 'image/jpeg' || contentType === 'image/png') &&
  contents.length <= PHOTO_BYTES_MAX;

/** The adapter, with other times than those of production. */
export const telegramWithin = (times: TelegramTimes): ChannelAdapter<TelegramSettings> => ({
  id: 'telegram',
  abilities,
  create: (context) => new TelegramAccount(context, times),
});

export const telegram = telegramWithin(TIMES);
