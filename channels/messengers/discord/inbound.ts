/**
 * Inbound messages of Discord: a message or a reaction in the form of `InboundMessage`.
 *
 * Pure. Messages of bots and webhooks, and system messages such as joins, have no inbound message.
 */
import {
  type APIAttachment,
  type APIMessage,
  type GatewayMessageReactionAddDispatchData,
  MessageReferenceType,
  MessageType,
} from 'discord-api-types/v10';
import {
  type ChatRef,
  INBOUND_MEDIA_MAX,
  type InboundMedia,
  type InboundMessage,
} from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';

/** Types of messages that people write: a message, and a reply. */
const WRITTEN: ReadonlySet<MessageType> = new Set([MessageType.Default, MessageType.Reply]);

export type Place = {
  readonly chat: ChatRef;
  /** of the bot in the guild, if people can mention it */
  readonly botRole?: string;
};

export const isWritten = (message: APIMessage): boolean =>
  WRITTEN.has(message.type) && !message.author.bot && message.webhook_id === undefined;

/** @param message one that `isWritten` */
export function messageOf(
  message: APIMessage,
  { chat, botRole }: Place,
  botId: string,
): InboundMessage | undefined {
  // a forwarded message has its text and files in a snapshot
  const { content, attachments } = message.message_snapshots?.[0]?.message ?? message;
  const media = attachments.slice(0, INBOUND_MEDIA_MAX).map(mediaOf);
  if (content === '' && media.length === 0) return undefined;
  const answered =
    message.message_reference?.type === MessageReferenceType.Forward
      ? undefined
      : message.message_reference;
  const { id, global_name, username } = message.author;
  return {
    key: `message:${message.id}`,
    kind: 'message',
    messageId: message.id,
    chat,
    sender: { id, name: global_name ?? username, username },
    text: content,
    mentionsAccount:
      message.mentions.some((user) => user.id === botId) ||
      (botRole !== undefined && message.mention_roles.includes(botRole)) ||
      message.referenced_message?.author.id === botId,
    sentAt: Date.parse(message.timestamp),
    ...defined({
      media: media.length > 0 ? media : undefined,
      replyTo: answered?.message_id,
    }),
  };
}

function mediaOf({ url, filename, content_type, size }: APIAttachment): InboundMedia {
  const [type = ''] = (content_type ?? '').split('/');
  const kind = type === 'image' || type === 'audio' || type === 'video' ? type : 'file';
  return { kind, id: url, name: filename, bytes: size, ...defined({ mimeType: content_type }) };
}

/** @param key the same for every delivery of this event */
export function reactionOf(
  key: string,
  reaction: GatewayMessageReactionAddDispatchData,
  { chat }: Place,
): InboundMessage {
  const user = reaction.member?.user;
  return {
    key,
    kind: 'reaction',
    messageId: reaction.message_id,
    chat,
    sender: {
      id: reaction.user_id,
      ...(user && { name: user.global_name ?? user.username, username: user.username }),
    },
    text: reaction.emoji.id === null ? (reaction.emoji.name ?? '') : `:${reaction.emoji.name}:`,
    mentionsAccount: false,
    replyTo: reaction.message_id,
  };
}
