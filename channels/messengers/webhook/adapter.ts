/**
 * Channel `webhook`: a program posts messages to an account, and receives replies at its URL, both
 * signed as Standard Webhooks describe. A repeated request has the same id in both directions, so
 * neither side processes a message twice.
 */
import { DEFAULT_TENANT } from '../../../protocols/address.ts';
import { chatAddress, type ConnectOutput, type SendOutcome } from '../../../protocols/channel.ts';
import { checker, describeErrors } from '../../../protocols/check.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { WEBHOOK_SECRET_RULE, webhookKeyOf } from '../../../protocols/security/webhook-key.ts';
import { WebhookInbound, type WebhookOutbound } from '../../../protocols/webhook.ts';
import type { Secret } from '../../../runtime/config/index.ts';
import type {
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
import { outcomeWithoutAnswer } from '../network.ts';
import {
  connectionFailed,
  excerptOf,
  notSent,
  rateLimited,
  refused,
  REQUEST_MS,
  parseRetryAfter,
  sent,
  unknownOutcome,
} from '../outcomes.ts';
import { checkSize, hmacSha256, jsonOf, STOPPED, untilAborted } from '../webhook-requests.ts';
import { signedHeaders, verify } from './standard-webhooks.ts';

export type WebhookSettings = { readonly secret: Secret; readonly url?: string };

/** Used when a receiver asks to wait without saying how long. */
const DEFAULT_WAIT_MS = 5_000;
/** How long receivers remember ids; docs/channels/webhook.md asks them to. */
const REMEMBERED_MS = 86_400_000;

/** A receiver gets a third more, as base64. */
const FILE_BYTES_MAX = 10 * 1024 * 1024;

const check = checker(WebhookInbound);

export const webhook: ChannelAdapter<WebhookSettings> = {
  id: 'webhook',
  abilities: {
    dialect: 'plain',
    charactersMax: 60_000,
    edit: false,
    threads: true,
    idempotentSendMs: REMEMBERED_MS,
    reconcile: false,
    files: { bytesMax: FILE_BYTES_MAX, reconcile: false },
    pace: { ofChatMs: 0, ofAccountMs: 0 },
  },
  create: (context) => new WebhookAccount(context),
};

class WebhookAccount implements AccountAdapter {
  readonly #context: AccountContext<WebhookSettings>;
  readonly #key: Buffer | undefined;
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(context: AccountContext<WebhookSettings>) {
    this.#context = context;
    this.#key = webhookKeyOf(context.settings.secret.reveal());
  }

  async start(connection: Connection): Promise<ConnectOutput> {
    const { url } = this.#context.settings;
    if (this.#key === undefined) return { error: this.#shortSecret().toData(), isFinal: true };
    try {
      await connection.onConnected(identityOf(this.#key), url && new URL(url).host);
      this.#isConnected = true;
      return await untilAborted(connection);
    } catch (error) {
      return connectionFailed(error);
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
    return this.#post(piece, { type: 'message', text: piece.text }, signal);
  }

  sendFile(piece: FilePiece, signal: AbortSignal): Promise<SendOutcome> {
    const { name, contentType, contents } = piece.file;
    const file = { name, contentType, content: Buffer.from(contents).toString('base64') };
    return this.#post(piece, { type: 'file', text: '', file }, signal);
  }

  async #post(
    piece: PieceRef,
    content: Pick<WebhookOutbound, 'type' | 'text' | 'file'>,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const { url } = this.#context.settings;
    if (url === undefined) return refused('INVALID_ARGUMENT', this.#noUrl());
    if (this.#key === undefined) return refused('INVALID_ARGUMENT', this.#shortSecret().message);
    if (signal.aborted) return notSent(STOPPED.error);
    const body = JSON.stringify(this.#bodyOf(piece, content));
    const headers = signedHeaders(this.#key, piece.id, this.#context.clock.wallMs(), body);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      });
      return await this.#outcomeOf(response, piece);
    } catch (error) {
      return outcomeWithoutAnswer(new URL(url).host, error);
    }
  }

  async webhook(request: WebhookRequest): Promise<WebhookResponse> {
    if (request.method === 'GET') return published;
    checkSize(request.body);
    if (this.#key === undefined) throw this.#shortSecret();
    const nowMs = this.#context.clock.wallMs();
    const id = verify(this.#key, request.header, nowMs, request.body);
    const checked = check(jsonOf(request.body));
    if (!checked.ok) throw new TroupeError('INVALID_ARGUMENT', describeErrors(checked.errors));
    this.#lastPongAt = nowMs;
    await this.#pass(id, checked.value, Number(request.header('webhook-timestamp')) * 1000);
    return { status: 202 };
  }

  async #pass(id: string, body: WebhookInbound, sentAt: number): Promise<void> {
    const { type = 'message', sender, text = '', mentionsAccount = true, replyTo } = body;
    const chat = { kind: 'dm', id: sender.id, ...body.chat } as const;
    // An id that cannot name a conversation would be accepted, and dropped later.
    chatAddress(DEFAULT_TENANT, { channel: 'webhook', account: this.#context.account }, chat);
    if (type === 'typing') return this.#context.onTyping(chat);
    if (text === '') throw new TroupeError('INVALID_ARGUMENT', '/text is empty');
    const messageId = body.messageId ?? id;
    const message = { key: id, kind: type, messageId, chat, sender, text, mentionsAccount, sentAt };
    await this.#context.onMessages([{ ...message, ...defined({ replyTo }) }]);
  }

  #bodyOf(
    { id, chat, replyTo }: PieceRef,
    { type, ...content }: Pick<WebhookOutbound, 'type' | 'text' | 'file'>,
  ): WebhookOutbound {
    const { guild: _, ...to } = chat;
    const { account } = this.#context;
    return { type, id, account, chat: to, ...content, ...defined({ replyTo }) };
  }

  async #outcomeOf(response: Response, { id }: PieceRef): Promise<SendOutcome> {
    const { status } = response;
    const nowMs = this.#context.clock.wallMs();
    this.#lastPongAt = nowMs;
    const waitMs = parseRetryAfter(response.headers.get('retry-after'), nowMs);
    const answer = `${this.#context.settings.url} answered ${status}: ${await excerptOf(response)}`;
    if (response.ok) return sent(id);
    if (status === 429)
      return notSent(rateLimited(`${this.#context.settings.url}`, waitMs ?? DEFAULT_WAIT_MS));
    if (status === 408 || status === 425 || status >= 500) return unknownOutcome(answer, waitMs);
    return refused('INVALID_ARGUMENT', `${answer}. ${remedy(status)}`);
  }

  #at(key: string): string {
    return `channels.webhook.accounts.${this.#context.account}.${key}`;
  }

  #noUrl(): string {
    return `replies are not sent, because ${this.#at('url')} is not set: set it to a URL of your program`;
  }

  #shortSecret(): TroupeError {
    return new TroupeError('INVALID_ARGUMENT', `${this.#at('secret')} ${WEBHOOK_SECRET_RULE}`);
  }
}

const remedy = (status: number): string => {
  if (status === 401 || status === 403) return 'The program must accept signatures of this secret';
  if (status < 400) return 'Redirects are not followed: configure the final URL';
  return 'Correct the program or the URL, then send the message again';
};

/** Tells accounts with different secrets apart, without revealing them. */
const identityOf = (key: Buffer): string =>
  `webhook:${hmacSha256(key, 'identity').toString('hex').slice(0, 12)}`;

/** A GET shows what to post. */
const published: WebhookResponse = {
  status: 200,
  contentType: 'application/schema+json',
  body: JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:troupe:webhook:1.0#/$defs/inbound',
    title: 'Body of a POST to this URL, with the headers of Standard Webhooks',
    ...WebhookInbound,
  }),
};
