/**
 * Channel `whatsapp`: one number of the WhatsApp Cloud API. Messages and the statuses of sent ones
 * arrive by a signed webhook; a status is the only proof of a message whose answer was lost.
 */
import type {
  ChatRef,
  ConnectOutput,
  InboundMedia,
  SendOutcome,
} from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { LruMap } from '../../../runtime/index.ts';
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
import { download, outcomeWithoutAnswer, tooLarge, unavailable } from '../network.ts';
import { notSent, ofUpload, sent } from '../outcomes.ts';
import { pause } from '../pause.ts';
import { checkSize, hmacSha256, isSame, jsonOf, STOPPED } from '../webhook-requests.ts';
import { endOfError, outcomeOfError, SERVICE } from './errors.ts';
import { authorization, errorOf, type GraphAnswer, isSuccess, request } from './graph.ts';
import { callbackData, receivedFrom } from './inbound.ts';
import { contentOf, formOf, isAccepted } from './files.ts';

export type WhatsAppSettings = {
  readonly accessToken: Secret;
  readonly phoneNumberId: string;
  readonly appSecret: Secret;
  readonly verifyToken: Secret;
  readonly apiUrl?: string;
  readonly mediaBytesMax: number;
};

const FILE_BYTES_MAX = 100 * 1024 * 1024;
/** Meta sends at most 3 MB. */
const POST_BYTES_MAX = 4 * 1024 * 1024;
/** Typing is shown for 25 s. */
const TYPING_MS = 20_000;
const CREDENTIALS_MS = 600_000;
/** Chats whose last message is remembered, for typing. */
const CHATS_MAX = 1_000;
/** A person whose number is hidden has a business-scoped id, such as `US.1234`. */
const SCOPED_ID = /^[A-Z]{2}\./;

export const whatsapp: ChannelAdapter<WhatsAppSettings> = {
  id: 'whatsapp',
  abilities: {
    dialect: 'whatsapp',
    charactersMax: 4_000,
    edit: false,
    typingEveryMs: TYPING_MS,
    threads: false,
    reconcile: false,
    provesOutcomes: true,
    media: { bytesMax: FILE_BYTES_MAX },
    files: { bytesMax: FILE_BYTES_MAX, accepts: isAccepted, reconcile: false },
    pace: { ofChatMs: 500, ofAccountMs: 15 },
  },
  create: (context) => new WhatsAppAccount(context),
};

class WhatsAppAccount implements AccountAdapter {
  readonly #context: AccountContext<WhatsAppSettings>;
  /** by chat: the last message that this process received */
  readonly #lastMessages = new LruMap<string, string>(CHATS_MAX);
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(context: AccountContext<WhatsAppSettings>) {
    this.#context = context;
  }

  /** Checks the credentials again and again: only requests show that a token was revoked. */
  async start(connection: Connection): Promise<ConnectOutput> {
    const { phoneNumberId } = this.#context.settings;
    try {
      for (let isFirst = true; ; isFirst = false) {
        const fields = '?fields=display_phone_number,verified_name';
        const answer = await this.#request(`${phoneNumberId}${fields}`, connection.signal);
        if (!isSuccess(answer)) return endOfError(errorOf(answer), answer.status);
        if (isFirst) await connection.onConnected(phoneNumberId, nameOf(answer));
        this.#isConnected = true;
        await pause(this.#context.clock, CREDENTIALS_MS, connection.signal);
      }
    } catch (error) {
      if (connection.signal.aborted) return STOPPED;
      return { error: unavailable(SERVICE, error).toData(), isFinal: false };
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
    const body = { ...bodyOf(piece), type: 'text', text: { body: piece.text } };
    return this.#attempt('messages', body, signal, messageIdOf);
  }

  /** The uploaded file is visible only after the message that contains its id. */
  async sendFile(piece: FilePiece, signal: AbortSignal): Promise<SendOutcome> {
    const { file } = piece;
    const uploaded = await this.#attempt('media', formOf(file), signal, ({ body }) =>
      typeof body['id'] === 'string' ? body['id'] : undefined,
    );
    if (uploaded.status !== 'sent') return ofUpload(uploaded);
    const body = { ...bodyOf(piece), ...contentOf(file, uploaded.messageId ?? '') };
    return this.#attempt('messages', body, signal, messageIdOf);
  }

  /** One request that creates something, without a retry. */
  async #attempt(
    what: 'messages' | 'media',
    body: object | FormData,
    signal: AbortSignal,
    idOf: (answer: GraphAnswer) => string | undefined,
  ): Promise<SendOutcome> {
    if (signal.aborted) return notSent(STOPPED.error);
    try {
      const answer = await this.#post(what, body, signal);
      if (isSuccess(answer)) return sent(idOf(answer));
      return outcomeOfError(errorOf(answer), answer.status, answer.waitMs);
    } catch (error) {
      return outcomeWithoutAnswer(SERVICE, error);
    }
  }

  /** Also marks the last message as read: WhatsApp shows typing only together with it. */
  async typing({ id }: ChatRef, signal: AbortSignal): Promise<void> {
    const message_id = this.#lastMessages.get(id);
    if (message_id === undefined) return;
    const typing_indicator = { type: 'text' };
    const body = { messaging_product: 'whatsapp', status: 'read', message_id, typing_indicator };
    await this.#post('messages', body, signal).catch(() => {});
  }

  async download({ id, bytes = 0 }: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    const { accessToken, mediaBytesMax } = this.#context.settings;
    const bytesMax = Math.min(FILE_BYTES_MAX, mediaBytesMax);
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    const { url, size } = await this.#locate(id, signal);
    if (size > bytesMax) throw tooLarge(bytesMax);
    const headers = authorization(accessToken);
    return download({ service: SERVICE, url, headers, bytesMax, signal });
  }

  async webhook(incoming: WebhookRequest): Promise<WebhookResponse> {
    if (incoming.method === 'GET') return this.#handshake(incoming.query);
    const { settings, clock, log } = this.#context;
    const body = verifiedBody(incoming, settings.appSecret);
    const received = receivedFrom(body, settings.phoneNumberId);
    if (received === undefined)
      throw new TroupeError('INVALID_ARGUMENT', 'the body is not a webhook of WhatsApp');
    this.#lastPongAt = clock.wallMs();
    if (received.foreign > 0)
      log.warn(
        { ignored: received.foreign },
        'webhook of another number: give each number a callback URL of its own',
      );
    await Promise.all(received.outcomes.map((proof) => this.#context.onOutcome(proof)));
    for (const { chat, messageId } of received.messages) this.#lastMessages.set(chat.id, messageId);
    if (received.messages.length > 0) await this.#context.onMessages(received.messages);
    return { status: 200 };
  }

  #handshake(query: URLSearchParams): WebhookResponse {
    const { verifyToken } = this.#context.settings;
    const challenge = query.get('hub.challenge') ?? '';
    const isValid =
      query.get('hub.mode') === 'subscribe' &&
      verifyToken.matches(query.get('hub.verify_token') ?? '') &&
      /^[\w-]{1,200}$/.test(challenge);
    if (!isValid)
      throw new TroupeError('FORBIDDEN', `the token differs from ${this.#at('verifyToken')}`);
    return { status: 200, body: challenge, contentType: 'text/plain; charset=utf-8' };
  }

  async #locate(id: string, signal: AbortSignal): Promise<{ url: string; size: number }> {
    const answer = await this.#request(encodeURIComponent(id), signal).catch((error: unknown) => {
      throw unavailable(SERVICE, error);
    });
    if (!isSuccess(answer))
      throw TroupeError.from(endOfError(errorOf(answer), answer.status).error);
    const { url, file_size } = answer.body;
    if (typeof url !== 'string') throw new TroupeError('UNAVAILABLE', 'the file has no URL');
    return { url, size: Number(file_size) || 0 };
  }

  #post(
    what: 'messages' | 'media',
    body: object | FormData,
    signal: AbortSignal,
  ): Promise<GraphAnswer> {
    return this.#request(`${this.#context.settings.phoneNumberId}/${what}`, signal, body);
  }

  async #request(
    path: string,
    signal: AbortSignal,
    post?: object | FormData,
  ): Promise<GraphAnswer> {
    const { settings, clock } = this.#context;
    const nowMs = clock.wallMs();
    const answer = await request(settings, path, { signal, nowMs, ...(post && { post }) });
    this.#lastPongAt = clock.wallMs();
    return answer;
  }

  #at(key: string): string {
    return `channels.whatsapp.accounts.${this.#context.account}.${key}`;
  }
}

const bodyOf = ({ id, chat, replyTo }: PieceRef) => ({
  messaging_product: 'whatsapp',
  recipient_type: 'individual',
  ...(SCOPED_ID.test(chat.id) ? { recipient: chat.id } : { to: chat.id }),
  ...(replyTo !== undefined && { context: { message_id: replyTo } }),
  ...defined({ biz_opaque_callback_data: callbackData({ chat, id }) }),
});

function messageIdOf({ body }: GraphAnswer): string | undefined {
  const [first] = Array.isArray(body['messages']) ? (body['messages'] as { id?: unknown }[]) : [];
  return typeof first?.id === 'string' ? first.id : undefined;
}

const nameOf = ({ body }: GraphAnswer): string | undefined =>
  typeof body['display_phone_number'] === 'string' ? body['display_phone_number'] : undefined;

/** @throws TroupeError UNAUTHORIZED, INVALID_ARGUMENT, PAYLOAD_TOO_LARGE */
function verifiedBody({ body, header }: WebhookRequest, secret: Secret): unknown {
  checkSize(body, POST_BYTES_MAX);
  const signature = header('x-hub-signature-256') ?? '';
  const found = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1] ?? '';
  if (isSame(hmacSha256(secret.reveal(), body), Buffer.from(found, 'hex'))) return jsonOf(body);
  throw new TroupeError('UNAUTHORIZED', 'the signature of Meta is wrong: check appSecret');
}
