/**
 * Channel `slack`: events by Socket Mode or the Events API over HTTP, messages by the Web API. The
 * SDK is used for HTTP only, without its retries and queue: it would post a message twice.
 */
import type { Logger, WebClient } from '@slack/web-api';
import type { ConnectOutput, InboundMedia, SendOutcome } from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { LazyValue } from '../../../protocols/lazy-value.ts';
import { unlessAborted } from '../../../protocols/time-limit.ts';
import type { Secret } from '../../../runtime/config/index.ts';
import type {
  AccountAdapter,
  AccountContext,
  AccountStatus,
  ChannelAdapter,
  Connection,
  FilePiece,
  Piece,
  WebhookRequest,
  WebhookResponse,
} from '../adapter.ts';
import { notSent, ofUpload, REQUEST_MS, sent } from '../outcomes.ts';
import { STOPPED, untilAborted } from '../webhook-requests.ts';
import { endOfError, outcomeOfError } from './errors.ts';
import { challengeOf, verifiedBody } from './events-api.ts';
import { messageOf } from './events.ts';
import { downloadFile, uploadFile } from './files.ts';
import { findPiece, markerOf } from './history.ts';
import { runSocketMode } from './socket-mode.ts';

export type SlackSettings = {
  readonly botToken: Secret;
  readonly appToken?: Secret;
  readonly signingSecret?: Secret;
  readonly apiUrl?: string;
  readonly mediaBytesMax: number;
};

const API_URL = 'https://slack.com/api/';
const FILE_BYTES_MAX = 100 * 1024 * 1024;
const NEEDED_SCOPES = ['chat:write'];

export const slack: ChannelAdapter<SlackSettings> = {
  id: 'slack',
  abilities: {
    dialect: 'slack-mrkdwn',
    charactersMax: 4_000,
    edit: true,
    threads: true,
    reconcile: true,
    media: { bytesMax: FILE_BYTES_MAX },
    // the message of a file has no metadata, and appears in the history later
    files: { bytesMax: FILE_BYTES_MAX, reconcile: false },
    pace: { ofChatMs: 1_000, ofAccountMs: 0 },
  },
  create: (context) => new SlackAccount(context),
};

/** The app in its workspace. */
type Self = { readonly user: string; readonly team: string; readonly name: string };

class SlackAccount implements AccountAdapter {
  readonly #context: AccountContext<SlackSettings>;
  readonly #client = new LazyValue(async (): Promise<WebClient> => {
    const sdk = await import('@slack/web-api');
    return new sdk.WebClient(this.#context.settings.botToken.reveal(), {
      slackApiUrl: this.#apiUrl(),
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: REQUEST_MS,
      allowAbsoluteUrls: false,
      logger: silent(sdk.LogLevel.ERROR),
    });
  });
  /** Slack is asked once who the account is. */
  readonly #self = new LazyValue(() => this.#askIdentity());
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(context: AccountContext<SlackSettings>) {
    this.#context = context;
  }

  async start(connection: Connection): Promise<ConnectOutput> {
    try {
      this.#self.forget();
      const self = await unlessAborted(this.#self.get(), connection.signal);
      const onReady = async () => {
        await connection.onConnected(`${self.team}:${self.user}`, `@${self.name}`);
        this.#isConnected = true;
      };
      return await this.#receive(connection, onReady);
    } catch (error) {
      return connection.signal.aborted ? STOPPED : endOfError(error);
    } finally {
      this.#isConnected = false;
    }
  }

  async stop(): Promise<void> {
    this.#isConnected = false;
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  getStatus(): AccountStatus {
    return { isConnected: this.#isConnected, ...defined({ lastPongAt: this.#lastPongAt }) };
  }

  send(piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    return this.#attempt(signal, async (client) => {
      const { ts } = await client.chat.postMessage({
        channel: piece.chat.id,
        text: piece.text,
        metadata: markerOf(piece),
        ...defined({ thread_ts: piece.chat.thread }),
      });
      return sent(ts);
    });
  }

  /** The uploaded file is visible only after the last request, which posts it. */
  async sendFile({ chat, file }: FilePiece, signal: AbortSignal): Promise<SendOutcome> {
    let id = '';
    const uploaded = await this.#attempt(signal, async (client) => {
      id = await uploadFile(client, file, signal);
      return sent(undefined);
    });
    if (uploaded.status !== 'sent') return ofUpload(uploaded);
    return this.#attempt(signal, async (client) => {
      const { id: channel_id, thread } = chat;
      const place = thread === undefined ? { channel_id } : { channel_id, thread_ts: thread };
      await client.files.completeUploadExternal({ files: [{ id, title: file.name }], ...place });
      return sent(undefined);
    });
  }

  edit(messageId: string, piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    return this.#attempt(signal, async (client) => {
      const { id: channel } = piece.chat;
      const metadata = markerOf(piece);
      await client.chat.update({ channel, ts: messageId, text: piece.text, metadata });
      return sent(messageId);
    });
  }

  async reconcile(piece: Piece, signal: AbortSignal): Promise<SendOutcome> {
    try {
      const { user } = await unlessAborted(this.#self.get(), signal);
      return await unlessAborted(findPiece(await this.#client.get(), user, piece), signal);
    } catch (error) {
      // That the history cannot be read says nothing about the message.
      return { status: 'unknown', error: endOfError(error).error };
    }
  }

  async download(media: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    const { settings } = this.#context;
    return downloadFile(await this.#client.get(), media, {
      token: settings.botToken.reveal(),
      apiUrl: this.#apiUrl(),
      bytesMax: Math.min(FILE_BYTES_MAX, settings.mediaBytesMax),
      signal,
    });
  }

  async webhook(request: WebhookRequest): Promise<WebhookResponse> {
    const { settings, clock } = this.#context;
    if (settings.signingSecret === undefined)
      throw new TroupeError('UNAUTHORIZED', `${this.#at('signingSecret')} is not set`);
    const body = verifiedBody(request, settings.signingSecret.reveal(), clock.wallMs());
    this.#lastPongAt = clock.wallMs();
    const challenge = challengeOf(body);
    if (challenge !== undefined)
      return { status: 200, body: challenge, contentType: 'text/plain; charset=utf-8' };
    await this.#pass(body);
    return { status: 200 };
  }

  async #receive(connection: Connection, onReady: () => Promise<void>): Promise<ConnectOutput> {
    const { settings, clock, log } = this.#context;
    if (settings.appToken !== undefined)
      return runSocketMode({
        clock,
        log,
        signal: connection.signal,
        openUrl: () => unlessAborted(this.#openUrl(), connection.signal),
        onReady,
        onEvent: (payload) => this.#pass(payload),
        onSignOfLife: () => (this.#lastPongAt = clock.wallMs()),
      });
    if (settings.signingSecret === undefined) return this.#noWayToReceive();
    await onReady();
    return untilAborted(connection);
  }

  #noWayToReceive(): ConnectOutput {
    const message =
      `set ${this.#at('appToken')} (Socket Mode) or ${this.#at('signingSecret')} ` +
      '(Events API over HTTP): without one of them no message arrives';
    return { error: { code: 'INVALID_ARGUMENT', message }, isFinal: true };
  }

  async #pass(payload: unknown): Promise<void> {
    const message = messageOf(payload);
    if (message !== undefined) await this.#context.onMessages([message]);
  }

  async #openUrl(): Promise<string> {
    const client = await this.#client.get();
    const { url } = await client.apps.connections.open({
      token: this.#context.settings.appToken!.reveal(),
    });
    if (url === undefined) throw new Error('apps.connections.open returned no URL');
    return url;
  }

  async #askIdentity(): Promise<Self> {
    const client = await this.#client.get();
    const { user_id = '', team_id = '', user = '', response_metadata } = await client.auth.test();
    const { scopes } = response_metadata ?? {};
    const missing = NEEDED_SCOPES.find((scope) => scopes !== undefined && !scopes.includes(scope));
    if (missing !== undefined)
      throw Object.assign(new Error('missing scope'), {
        code: 'slack_webapi_platform_error',
        data: { error: 'missing_scope', needed: missing },
      });
    return { user: user_id, team: team_id, name: user };
  }

  /** One request, without a retry. Aborted, it may still be accepted until its timeout. */
  async #attempt(
    signal: AbortSignal,
    request: (client: WebClient) => Promise<SendOutcome>,
  ): Promise<SendOutcome> {
    if (signal.aborted) return notSent(STOPPED.error);
    try {
      const client = await this.#client.get();
      const outcome = await unlessAborted(request(client), signal);
      this.#lastPongAt = this.#context.clock.wallMs();
      return outcome;
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  #apiUrl(): string {
    return this.#context.settings.apiUrl ?? API_URL;
  }

  #at(key: string): string {
    return `channels.slack.accounts.${this.#context.account}.${key}`;
  }
}

/** Errors are thrown, too, so that its log lines are not needed. */
const silent = (level: ReturnType<Logger['getLevel']>): Logger => ({
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => level,
  setName() {},
});
