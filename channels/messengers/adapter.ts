/**
 * Adapter: the interface of a messenger (CH1). An adapter translates: it turns what a service sends
 * into `InboundMessage`, and sends one piece of text or one file. Admission, deduplication, order,
 * chunks, retries, back-off, rate limits and dead letters are the runtime's (`actors/channel`,
 * `actors/chat`, `channel-host.ts`). Retries and queues of SDKs are off.
 *
 * Boundary: an adapter stores nothing. SDKs are imported in `start` or at the first call, so that
 * an account that is not configured costs nothing.
 */
import type {
  ChatRef,
  ConnectOutput,
  InboundMedia,
  InboundMessage,
  SendOutcome,
} from '../../protocols/channel.ts';
import type { FilePart } from '../../protocols/content.ts';
import type { Clock } from '../../runtime/index.ts';
import type { Dialect } from './text/dialects.ts';

/** What the service can do. */
export type Abilities = {
  readonly dialect: Dialect;
  /** maximum length of one piece of text after rendering, UTF-16 units */
  readonly charactersMax: number;
  /** `AccountAdapter.edit` is implemented, so replies can be streamed by edits */
  readonly edit: boolean;
  /** `AccountAdapter.typing` is implemented; it is repeated after this many milliseconds */
  readonly typingEveryMs?: number;
  readonly threads: boolean;
  /** two sends with the same id within this many milliseconds post one message. Default: never */
  readonly idempotentSendMs?: number;
  /** `AccountAdapter.reconcile` is implemented */
  readonly reconcile: boolean;
  /** the service proves outcomes later, by `AccountContext.onOutcome`. Default: false */
  readonly provesOutcomes?: boolean;
  /** files that can be received; `bytesMax` of one file */
  readonly media?: { readonly bytesMax: number };
  /** `AccountAdapter.sendFile` is implemented. Default: the name of a file is sent as text */
  readonly files?: SendableFiles;
  /** minimum interval between sends, milliseconds; the runtime keeps it */
  readonly pace: { readonly ofChatMs: number; readonly ofAccountMs: number };
};

export type SendableFiles = {
  /** of one file */
  readonly bytesMax: number;
  /** default: all types */
  readonly accepts?: (contentType: string) => boolean;
  /** `AccountAdapter.reconcile` finds files, too */
  readonly reconcile: boolean;
};

/** One piece of a message, without what it contains. */
export type PieceRef = {
  /** the same for all attempts, and for no other piece */
  readonly id: string;
  readonly chat: ChatRef;
  /** message of the chat that it answers */
  readonly replyTo?: string;
  /** from 1 */
  readonly attempt: number;
  /** epoch milliseconds of the first attempt */
  readonly firstTriedAt: number;
};

/** A piece of text. */
export type Piece = PieceRef & {
  /** in the dialect of the channel */
  readonly text: string;
  /** the same without formatting, if the service refuses the formatted one */
  readonly plain: string;
};

/** A file, at most `SendableFiles.bytesMax`. */
export type FilePiece = PieceRef & {
  readonly file: Pick<FilePart, 'name' | 'contentType'> & { readonly contents: Uint8Array };
};

/** A request to the webhook of an account; `body` is the raw one, for signatures. */
export type WebhookRequest = {
  readonly method: 'GET' | 'POST';
  readonly query: URLSearchParams;
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
};
export type WebhookResponse = {
  readonly status: number;
  readonly body?: string;
  readonly contentType?: string;
};

export type OutcomeProof = {
  readonly chat: ChatRef;
  /** `Piece.id` */
  readonly pieceId: string;
  readonly outcome: SendOutcome;
};

/** What an account needs from the runtime. */
export type AccountContext<Settings> = {
  /** name in the configuration, for error texts */
  readonly account: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
  /**
   * Resolves when the messages are stored or refused; only then may they be acknowledged to the
   * service. Order per chat is kept. A repeated `key` is ignored.
   *
   * @throws TroupeError UNAVAILABLE: nothing may be acknowledged; the service delivers again
   */
  onMessages(messages: readonly InboundMessage[]): Promise<void>;
  /** A person types in the chat; ephemeral. */
  onTyping(chat: ChatRef): void;
  /**
   * A later proof of what happened to a piece, such as a status webhook of WhatsApp. Resolves when
   * it is stored; only then may it be acknowledged. Repeats are ignored.
   *
   * @throws TroupeError UNAVAILABLE as `onMessages`
   */
  onOutcome(proof: OutcomeProof): Promise<void>;
};

/** What `start` receives. */
export type Connection = {
  /** as last stored by `onPosition` for the same identity; undefined: from now on */
  readonly position: unknown;
  /** the identity that `position` belongs to */
  readonly identity: string | undefined;
  /** Aborted when the connection is no longer wanted. */
  readonly signal: AbortSignal;
  /** Called once, when messages arrive from now on. */
  onConnected(identity: string, name?: string): Promise<void>;
  /** Resolves when the position is stored. Call it after `onMessages` of everything before it. */
  onPosition(position: unknown): Promise<void>;
};

export type AccountStatus = {
  readonly isConnected: boolean;
  /** epoch milliseconds of the last sign of life of the service */
  readonly lastPongAt?: number;
};

/** One account. All methods may be called in any process, connected or not. */
export interface AccountAdapter {
  /**
   * Connects and receives until the connection ends or `signal` is aborted; returns why it ended,
   * in a text that says what to do.
   * Never throws. For a service that only calls webhooks: checks the credentials and waits.
   */
  start(connection: Connection): Promise<ConnectOutput>;
  /** Closes what is open in this process. May be repeated. */
  stop(): Promise<void>;
  isConnected(): boolean;
  getStatus(): AccountStatus;
  /** One request to the service, without a retry. Never throws. */
  send(piece: Piece, signal: AbortSignal): Promise<SendOutcome>;
  /** Sends one file, without a retry. Never throws. */
  sendFile?(piece: FilePiece, signal: AbortSignal): Promise<SendOutcome>;
  /**
   * Finds out what happened to a piece whose outcome is unknown; of a file, the text is empty.
   * Never throws.
   */
  reconcile?(piece: Piece, signal: AbortSignal): Promise<SendOutcome>;
  /** Replaces the text of a sent message; idempotent. Never throws. */
  edit?(messageId: string, piece: Piece, signal: AbortSignal): Promise<SendOutcome>;
  /** Shows that the account types; errors are ignored. */
  typing?(chat: ChatRef, signal: AbortSignal): Promise<void>;
  /** @throws TroupeError PAYLOAD_TOO_LARGE over `abilities.media.bytesMax`, UNAVAILABLE */
  download?(media: InboundMedia, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Verifies a request and passes its messages on.
   *
   * @throws TroupeError UNAUTHORIZED, INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, UNAVAILABLE: the answer
   *   has its HTTP status
   */
  webhook?(request: WebhookRequest): Promise<WebhookResponse>;
}

export type ChannelAdapter<Settings = unknown> = {
  /** the name of the channel */
  readonly id: string;
  readonly abilities: Abilities;
  /** Cheap: it opens nothing. */
  create(context: AccountContext<Settings>): AccountAdapter;
};
