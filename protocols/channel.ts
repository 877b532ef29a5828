/**
 * Channels: messages between messengers, chat actors and sessions, and the rows that lists read.
 *
 * A channel is a messenger, such as `telegram`. An account is one bot or number of it. Its actor
 * (`channelAddress`) has the connection, the inbound position and the approved senders. A chat is
 * one conversation of an account: its actor (`chatAddress`) passes messages to the session and
 * sends the replies, one piece at a time.
 */
import { type Address, address, parseAddress } from './address.ts';
import type { FilePart } from './content.ts';
import type { ErrorData } from './errors.ts';

/** One account of a channel. Both parts match CHANNEL_NAME. */
export type AccountRef = { readonly channel: string; readonly account: string };
/** Where a text for users goes; without an account: to clients of the gateway. */
export type TextDestination = { readonly channel: string; readonly account?: string };
export const CHANNEL_NAME = '^[a-z0-9][a-z0-9_-]{0,31}$';

/** A chat of an account, as the service identifies it. */
export type ChatRef = {
  /** `dm`: one person and the account; `group`: everything else */
  readonly kind: 'dm' | 'group';
  /** at most 128 characters */
  readonly id: string;
  /** topic or thread in the chat; at most 128 characters */
  readonly thread?: string;
  /** Discord guild or Slack workspace; at most 128 characters */
  readonly guild?: string;
};

export type ChannelSender = {
  /** stable id of the service; at most 128 characters */
  readonly id: string;
  readonly name?: string;
  readonly username?: string;
};

/** A file of an inbound message that is not downloaded yet. */
export type InboundMedia = {
  readonly kind: 'image' | 'audio' | 'video' | 'file';
  /** what the adapter needs to download it; at most 2,048 characters */
  readonly id: string;
  readonly name?: string;
  readonly mimeType?: string;
  /** size in bytes, if the service reports it */
  readonly bytes?: number;
};

/** A message from a messenger, in the form that is the same for all of them. */
export type InboundMessage = {
  /** the same for every delivery of one message, unique in the account; at most 200 characters */
  readonly key: string;
  readonly kind: 'message' | 'reaction';
  /** id of the message in its chat */
  readonly messageId: string;
  readonly chat: ChatRef;
  readonly sender: ChannelSender;
  /** at most INBOUND_CHARACTERS_MAX; of a reaction: its emoji */
  readonly text: string;
  /** the message names the account, or replies to it */
  readonly mentionsAccount: boolean;
  /** at most INBOUND_MEDIA_MAX */
  readonly media?: readonly InboundMedia[];
  /** the message that it replies to or reacts to */
  readonly replyTo?: string;
  /** epoch milliseconds, by the service's clock */
  readonly sentAt?: number;
};
export const INBOUND_CHARACTERS_MAX = 64 * 1024;
export const INBOUND_MEDIA_MAX = 10;

/** Why a message was not admitted. */
export const ADMISSION_RULES = [
  'dm.disabled',
  'dm.allowlist',
  'dm.pairing',
  'group.disabled',
  'group.list',
  'group.sender',
  'group.mention',
] as const;
export type AdmissionRule = (typeof ADMISSION_RULES)[number];
export type Admission =
  | { readonly pass: true }
  | { readonly pass: false; readonly rule: AdmissionRule };

/** Which agent and session a message goes to, and the rule that decided it. */
export type Route = {
  readonly agentId: string;
  readonly sessionKey: string;
  /** such as `account`, `group *`, `default`; shown to operators */
  readonly rule: string;
};

// ---- the account

/** To an account, when a process starts and when the configuration changes. */
export type ChannelConfigure = {
  readonly type: 'channel.configure';
  readonly isEnabled: boolean;
  /** changes with every setting that the connection depends on */
  readonly digest: string;
};
/** Starts the connection of an account; it ends with the reason. */
export type ConnectInput = AccountRef & { readonly tenant: string };
/**
 * Index POSITIONS_INDEX, key `channel:account`: up to where messages are stored. The connection
 * reads it when it starts, also when it starts again after a crash.
 */
export type PositionRow = {
  /** the bot or number that the position belongs to */
  readonly identity: string;
  /** null: nothing was received yet */
  readonly position: unknown;
};
export const POSITIONS_INDEX = 'channel_positions';
export type ConnectOutput = {
  /** with `retryAfterMs` if the service asked to wait */
  readonly error: ErrorData;
  /** the same would happen again until an operator changes something */
  readonly isFinal: boolean;
};

/** From the connection: it is established. */
export type ChannelConnected = {
  readonly type: 'channel.connected';
  /** id of the bot or number at the service; positions belong to it */
  readonly identity: string;
  /** how people find it, such as `@name` */
  readonly name?: string;
};
/**
 * From the connection: every message before this position is stored in the mailbox of its chat.
 * Only then does the adapter acknowledge them to the service.
 */
export type ChannelPosition = {
  readonly type: 'channel.position';
  readonly identity: string;
  /** JSON of the adapter, at most 2,048 characters encoded; replaces the previous one */
  readonly position: unknown;
};
/** From processes that handle messages of the account, at most once a second each. */
export type ChannelObserved = {
  readonly type: 'channel.observed';
  readonly inbound: number;
  readonly outbound: number;
  readonly refused: Readonly<Partial<Record<AdmissionRule, number>>>;
  /** epoch milliseconds */
  readonly lastInboundAt?: number;
  readonly lastOutboundAt?: number;
  readonly lastError?: string;
};
/** From an operator: connect again now, also after a final failure. Reply: { restarted } */
export type ChannelRestart = { readonly type: 'channel.restart' };
/** To an account: an unknown sender wrote to it. A new request is answered in the chat. */
export type ChannelPair = {
  readonly type: 'channel.pair';
  /** random: PAIRING_CHARACTERS of PAIRING_ALPHABET */
  readonly code: string;
  readonly sender: ChannelSender;
  readonly chat: ChatRef;
};
/** From an operator. Reply: PairingDecided, or NOT_FOUND. */
export type ChannelApprove = { readonly type: 'channel.approve'; readonly code: string };
export type ChannelReject = { readonly type: 'channel.reject'; readonly code: string };
/**
 * From an operator: an approved sender may not write any more. Reply: PairingDecided, or NOT_FOUND.
 */
export type ChannelRevoke = { readonly type: 'channel.revoke'; readonly senderId: string };
export type PairingDecided = { readonly sender: ChannelSender };

/** Characters of a pairing code: those that are hard to confuse. */
export const PAIRING_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
export const PAIRING_CHARACTERS = 8;

/** Pending requests of one account, their time to live, and approved senders. */
export const PAIRINGS_PENDING_MAX = 3;
export const PAIRING_TTL_MS = 3_600_000;
export const APPROVED_SENDERS_MAX = 1_000;

export type ConnectionState = 'stopped' | 'connecting' | 'connected' | 'backoff' | 'failed';

/** Index CHANNELS_INDEX, key `channel:account`. */
export type ChannelRow = AccountRef & {
  readonly state: ConnectionState;
  /** RFC 3339, as all times here */
  readonly since: string;
  readonly identity?: string;
  readonly name?: string;
  /** connections after the first one */
  readonly reconnects: number;
  readonly inbound: number;
  readonly outbound: number;
  readonly refused: Readonly<Partial<Record<AdmissionRule, number>>>;
  readonly lastInboundAt?: string;
  readonly lastOutboundAt?: string;
  readonly lastError?: string;
  /** of `backoff` */
  readonly nextTryAt?: string;
  readonly pairings: number;
  readonly approved: number;
};
export const CHANNELS_INDEX = 'channels';

/** Index PAIRINGS_INDEX, key `channel:account:code`. */
export type PairingRow = AccountRef & {
  readonly code: string;
  readonly sender: ChannelSender;
  readonly at: string;
  readonly expiresAt: string;
};
export const PAIRINGS_INDEX = 'pairings';

/** Index APPROVED_INDEX, key `approvedKey`. */
export type ApprovedRow = AccountRef & { readonly sender: ChannelSender; readonly at: string };
export const APPROVED_INDEX = 'approved_senders';

export const accountKey = ({ channel, account }: AccountRef): string => `${channel}:${account}`;
export const approvedKey = (of: AccountRef, senderId: string): string =>
  `${accountKey(of)}:${senderId}`;

export const channelAddress = (tenant: string, of: AccountRef): Address =>
  address(tenant, 'channel', accountKey(of));

// ---- the chat

/** From the entry point of a channel: a message was admitted. */
export type ChatInbound = {
  readonly type: 'chat.inbound';
  readonly message: InboundMessage;
  readonly route: Route;
  /** hooks or downloads come first */
  readonly needsPreparation?: true;
  /** a hook learns the outcome of what is sent to this chat */
  readonly isObserved?: true;
};
/** From sessions and tools: text and files for this chat. A repeat with the same id is ignored. */
export type ChatDeliver = {
  readonly type: 'chat.deliver';
  /** at most 128 characters */
  readonly id: string;
  /** default: the chat of the last message */
  readonly chat?: ChatRef;
  /** Markdown; at most DELIVERY_CHARACTERS_MAX */
  readonly text: string;
  /** sent after the text, each as a piece of its own; at most FILES_MAX */
  readonly files?: readonly FilePart[];
  /** of a message that a run sends before it ends */
  readonly runId?: string;
  /** of a delivery that an operator repeats: the first piece to send. Default 0 */
  readonly fromPiece?: number;
  /** only this piece is sent */
  readonly isOnePiece?: true;
};
/** The id of a piece of a delivery, the same for all attempts. */
export const pieceIdOf = ({ id, piece }: { readonly id: string; readonly piece: number }): string =>
  `${id}:${piece}`;

/** From the entry point of a channel: the service proved later what happened to a piece. */
export type ChatOutcome = {
  readonly type: 'chat.outcome';
  readonly pieceId: string;
  readonly outcome: SendOutcome;
};
export const DELIVERY_CHARACTERS_MAX = 256 * 1024;
/** A chat, and its actor, which sends what `chat.deliver` contains. */
export type DeliveryTarget = {
  readonly actor: Address;
  readonly chat: ChatRef;
  /** of the route of its last message */
  readonly rule?: string;
};

/** Deliveries of one chat that wait. */
export const DELIVERIES_MAX = 100;

/** `unknown`: the service may have accepted it, and there is no way to find out. */
export type SendOutcome =
  | { readonly status: 'sent'; readonly messageId?: string }
  | {
      readonly status: 'not_sent';
      /** with `retryAfterMs` if the service asked to wait */
      readonly error: ErrorData;
      /** another attempt would fail, too */
      readonly isFinal?: true;
    }
  | { readonly status: 'unknown'; readonly error: ErrorData };

/** Of the chat of a message or delivery, within its account. */
export const chatKey = ({ chat }: { readonly chat: ChatRef }): string =>
  `${chat.id}\n${chat.thread ?? ''}`;

export const chatAddress = (tenant: string, of: AccountRef, { id, thread }: ChatRef): Address =>
  address(
    tenant,
    'chat',
    [of.channel, of.account, id, ...(thread === undefined ? [] : [thread])]
      .map((part) => part.replaceAll('%', '%25').replaceAll(':', '%3A'))
      .join(':'),
  );

/** The account of a chat's actor; undefined for other actors. */
export function accountOfChat(actor: Address): AccountRef | undefined {
  const { type, key } = parseAddress(actor);
  const [channel, account] = key.split(':');
  return type === 'chat' && account !== undefined ? { channel: channel!, account } : undefined;
}
