/**
 * Inbound messages of Telegram: an update of the Bot API in the form of `InboundMessage`.
 *
 * Pure. Updates that are not a message of a person, such as service messages, edits and messages
 * of bots, have no inbound message.
 */
import type { Message, MessageEntity, ReactionType, Update } from 'grammy/types';
import {
  type ChannelSender,
  type ChatRef,
  INBOUND_MEDIA_MAX,
  type InboundMedia,
  type InboundMessage,
} from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';

/** The bot as `getMe` describes it. */
export type Bot = { readonly id: number; readonly username: string };

/** What the adapter asks Telegram for. */
export const ALLOWED_UPDATES = ['message', 'message_reaction'] as const;

export function inboundOf(update: Update, bot: Bot): InboundMessage | undefined {
  if (update.message) return messageOf(update.update_id, update.message, bot);
  if (update.message_reaction) return reactionOf(update.update_id, update.message_reaction);
  return undefined;
}

function messageOf(updateId: number, message: Message, bot: Bot): InboundMessage | undefined {
  const chat = chatOf(
    message.chat,
    message.is_topic_message ? message.message_thread_id : undefined,
  );
  const sender = senderOf(message);
  const text = message.text ?? message.caption ?? locationOrContact(message);
  const media = mediaOf(message).slice(0, INBOUND_MEDIA_MAX);
  if (!chat || !sender || (text === undefined && media.length === 0)) return undefined;
  const answered = answeredBy(message);
  return {
    // update ids start again after a week without updates; ephemeral messages have the id 0
    key: message.message_id > 0 ? `${chat.id}:${message.message_id}` : `update:${updateId}`,
    kind: 'message',
    messageId: String(message.message_id),
    chat,
    sender,
    text: text ?? '',
    mentionsAccount: answered?.from?.id === bot.id || namesBot(message, bot),
    sentAt: message.date * 1_000,
    ...defined({
      media: media.length > 0 ? media : undefined,
      replyTo: answered && String(answered.message_id),
    }),
  };
}

function chatOf(chat: Message['chat'], thread?: number): ChatRef | undefined {
  if (chat.type === 'channel') return undefined;
  const kind = chat.type === 'private' ? 'dm' : 'group';
  return { kind, id: String(chat.id), ...(thread === undefined ? {} : { thread: String(thread) }) };
}

/** Anonymous administrators write as a chat; `from` is then a bot of Telegram. */
function senderOf({ from, sender_chat, is_automatic_forward }: Message): ChannelSender | undefined {
  if (is_automatic_forward) return undefined;
  if (sender_chat) return chatSender(sender_chat);
  return from && !from.is_bot ? userSender(from) : undefined;
}

const userSender = (user: NonNullable<Message['from']>): ChannelSender => ({
  id: String(user.id),
  name: [user.first_name, user.last_name].filter(Boolean).join(' '),
  ...defined({ username: user.username }),
});

const chatSender = (chat: Message['chat']): ChannelSender => ({
  id: String(chat.id),
  ...defined({ name: chat.title, username: chat.username }),
});

/** The message that this one replies to. In a topic, its first message is not a reply. */
const answeredBy = ({ reply_to_message: answered }: Message): Message['reply_to_message'] =>
  answered?.forum_topic_created ? undefined : answered;

function namesBot(message: Message, bot: Bot): boolean {
  const text = message.text ?? message.caption ?? '';
  const entities = message.entities ?? message.caption_entities ?? [];
  return entities.some((entity) => isMention(entity, text, bot));
}

/** Offsets and lengths of entities are UTF-16 units, as those of JavaScript. */
function isMention(entity: MessageEntity, text: string, { id, username }: Bot): boolean {
  if (entity.type === 'text_mention') return entity.user.id === id;
  const part = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
  const name = `@${username.toLowerCase()}`;
  return (
    (entity.type === 'mention' && part === name) ||
    (entity.type === 'bot_command' && part.endsWith(name))
  );
}

function locationOrContact({ location, contact }: Message): string | undefined {
  if (location) return `location: ${location.latitude}, ${location.longitude}`;
  if (!contact) return undefined;
  const name = [contact.first_name, contact.last_name].filter(Boolean).join(' ');
  return `contact: ${name}, ${contact.phone_number}`;
}

type File = {
  readonly file_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
  readonly mime_type?: string;
};

const fileOf = (kind: InboundMedia['kind'], file: File, mimeType?: string): InboundMedia => ({
  kind,
  id: file.file_id,
  ...defined({
    name: file.file_name,
    mimeType: file.mime_type ?? mimeType,
    bytes: file.file_size,
  }),
});

function mediaOf(message: Message): InboundMedia[] {
  const { photo, voice, audio, video, video_note, animation, document, sticker } = message;
  const largest = photo?.at(-1);
  if (largest) return [fileOf('image', largest, 'image/jpeg')];
  if (voice) return [fileOf('audio', voice, 'audio/ogg')];
  if (audio) return [fileOf('audio', audio)];
  if (video) return [fileOf('video', video)];
  if (video_note) return [fileOf('video', video_note, 'video/mp4')];
  // an animation is repeated as `document`
  if (animation) return [fileOf('video', animation)];
  if (document) return [fileOf('file', document)];
  if (sticker && !sticker.is_animated && !sticker.is_video)
    return [fileOf('image', sticker, 'image/webp')];
  return [];
}

function reactionOf(
  updateId: number,
  reaction: NonNullable<Update['message_reaction']>,
): InboundMessage | undefined {
  const chat = chatOf(reaction.chat);
  const sender = reaction.user ? userSender(reaction.user) : chatSenderOf(reaction.actor_chat);
  const before = new Set(reaction.old_reaction.map(emojiOf));
  const added = reaction.new_reaction.map(emojiOf).find((emoji) => !before.has(emoji));
  if (!chat || !sender || added === undefined || reaction.user?.is_bot) return undefined;
  return {
    key: `reaction:${updateId}`,
    kind: 'reaction',
    messageId: String(reaction.message_id),
    chat,
    sender,
    text: added,
    mentionsAccount: false,
    replyTo: String(reaction.message_id),
    sentAt: reaction.date * 1_000,
  };
}

const chatSenderOf = (chat: Message['chat'] | undefined) => chat && chatSender(chat);

const emojiOf = (reaction: ReactionType): string =>
  reaction.type === 'emoji' ? reaction.emoji : `:${reaction.type}:`;
