/**
 * Webhook posts of the WhatsApp Cloud API: messages of people and statuses of sent messages. Pure.
 * A post contains many of both, in any order.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import {
  INBOUND_CHARACTERS_MAX,
  type InboundMedia,
  type InboundMessage,
} from '../../../protocols/channel.ts';
import { checker } from '../../../protocols/check.ts';
import { defined } from '../../../protocols/defined.ts';
import type { OutcomeProof, Piece } from '../adapter.ts';
import { sent } from '../outcomes.ts';
import { GraphError, outcomeOfError } from './errors.ts';

const Text = Type.String();
const Id = Type.String({ minLength: 1, maxLength: 200 });
const Sender = Type.String({ minLength: 1, maxLength: 128 });
const optional = <S extends TSchema>(schema: S) => Type.Optional(schema);
const list = <S extends TSchema>(schema: S) => optional(Type.Array(schema));

const MEDIA = ['image', 'video', 'audio', 'document', 'sticker'] as const;
const Media = optional(
  Type.Object({
    id: Id,
    mime_type: optional(Text),
    caption: optional(Text),
    filename: optional(Text),
  }),
);
const Reply = optional(Type.Object({ title: Text }));

const Message = Type.Object({
  id: Id,
  /** absent for people with a user name whose number is hidden */
  from: optional(Sender),
  from_user_id: optional(Sender),
  timestamp: Text,
  type: Text,
  text: optional(Type.Object({ body: Text })),
  image: Media,
  video: Media,
  audio: Media,
  document: Media,
  sticker: Media,
  reaction: optional(Type.Object({ message_id: Id, emoji: optional(Text) })),
  button: optional(Type.Object({ text: Text })),
  interactive: optional(Type.Object({ button_reply: Reply, list_reply: Reply })),
  location: optional(
    Type.Object({
      latitude: Type.Number(),
      longitude: Type.Number(),
      name: optional(Text),
      address: optional(Text),
    }),
  ),
  context: optional(Type.Object({ id: optional(Id), from: optional(Text) })),
});
type Message = Static<typeof Message>;

const Contact = Type.Object({
  wa_id: optional(Text),
  user_id: optional(Text),
  profile: optional(Type.Object({ name: optional(Text), username: optional(Text) })),
});
type Contact = Static<typeof Contact>;

const Status = Type.Object({
  id: Id,
  status: Text,
  biz_opaque_callback_data: optional(Text),
  errors: list(GraphError),
});

const Post = Type.Object({
  entry: Type.Array(
    Type.Object({
      changes: Type.Array(
        Type.Object({
          field: Text,
          value: Type.Object({
            metadata: optional(
              Type.Object({ phone_number_id: Text, display_phone_number: optional(Text) }),
            ),
            // Checked one by one: an unknown kind of message must not refuse the others.
            contacts: list(Type.Unknown()),
            messages: list(Type.Unknown()),
            statuses: list(Type.Unknown()),
          }),
        }),
      ),
    }),
  ),
});
type Value = Static<typeof Post>['entry'][number]['changes'][number]['value'];

const check = { post: checker(Post), message: checker(Message), status: checker(Status) };
const checkContact = checker(Contact);

export type Received = {
  /** by the time of the service */
  readonly messages: readonly InboundMessage[];
  readonly outcomes: readonly OutcomeProof[];
  /** changes for other numbers, which have accounts of their own */
  readonly foreign: number;
};

/** @returns undefined: not a post of the Cloud API */
export function receivedFrom(body: unknown, phoneNumberId: string): Received | undefined {
  const checked = check.post(body);
  if (!checked.ok) return undefined;
  const changes = checked.value.entry
    .flatMap((entry) => entry.changes)
    .filter(({ field }) => field === 'messages');
  const own = changes
    .map(({ value }) => value)
    .filter(({ metadata }) => metadata?.phone_number_id === phoneNumberId);
  return {
    messages: own.flatMap(messagesOf).toSorted((a, b) => a.sentAt! - b.sentAt!),
    outcomes: own.flatMap(outcomesOf),
    foreign: changes.length - own.length,
  };
}

function messagesOf({ messages = [], contacts = [], metadata }: Value): InboundMessage[] {
  const people = valid(contacts, checkContact);
  return valid(messages, check.message).flatMap((message) => {
    const id = message.from ?? message.from_user_id;
    const content = contentOf(message);
    if (id === undefined || content === undefined) return [];
    const contact = people.find(({ wa_id, user_id }) => wa_id === id || user_id === id);
    const own = metadata?.display_phone_number;
    return [
      {
        key: message.id,
        messageId: message.id,
        chat: { kind: 'dm', id },
        sender: { id, ...nameOf(contact) },
        mentionsAccount: own !== undefined && message.context?.from === own,
        ...defined({ replyTo: message.context?.id }),
        sentAt: Number(message.timestamp) * 1000 || 0,
        ...content,
      },
    ];
  });
}

const nameOf = (contact: Contact | undefined) =>
  defined({ name: contact?.profile?.name, username: contact?.profile?.username });

type Content = Pick<InboundMessage, 'kind' | 'text' | 'media' | 'replyTo'>;

function contentOf(message: Message): Content | undefined {
  const { reaction } = message;
  // A reaction without an emoji was removed.
  if (message.type === 'reaction')
    return reaction?.emoji
      ? { kind: 'reaction', text: reaction.emoji, replyTo: reaction.message_id }
      : undefined;
  const media = mediaOf(message);
  const text = media === undefined ? textOf(message) : media.caption;
  if (text === undefined) return undefined;
  return {
    kind: 'message',
    text: text.slice(0, INBOUND_CHARACTERS_MAX),
    ...(media && { media: [media.file] }),
  };
}

const textOf = ({ text, button, interactive, location }: Message): string | undefined =>
  text?.body ??
  button?.text ??
  interactive?.button_reply?.title ??
  interactive?.list_reply?.title ??
  (location && placeOf(location));

const placeOf = ({ latitude, longitude, name, address }: NonNullable<Message['location']>) =>
  [`Location: ${latitude}, ${longitude}`, name, address].filter(Boolean).join('\n');

function mediaOf(message: Message): { caption: string; file: InboundMedia } | undefined {
  const type = MEDIA.find((one) => message[one] !== undefined);
  if (type === undefined) return undefined;
  const { id, mime_type, caption = '', filename } = message[type]!;
  const kind = type === 'document' ? 'file' : type === 'sticker' ? 'image' : type;
  return { caption, file: { kind, id, ...defined({ name: filename, mimeType: mime_type }) } };
}

/** A status proves what happened to a piece; `failed` may follow after a message was accepted. */
const outcomesOf = ({ statuses = [] }: Value): Received['outcomes'] =>
  valid(statuses, check.status).flatMap((status) => {
    const { id, biz_opaque_callback_data: data = '' } = status;
    const about = ofCallbackData(data);
    if (about === undefined) return [];
    if (status.status === 'failed')
      return [{ ...about, outcome: outcomeOfError(status.errors?.[0] ?? {}) }];
    return ['sent', 'delivered', 'read'].includes(status.status)
      ? [{ ...about, outcome: sent(id) }]
      : [];
  });

/** Longest data that the statuses of a message repeat, characters. */
const DATA_CHARACTERS_MAX = 512;

/** Identifies a piece in its statuses, which may name another id of the person than the chat. */
export const callbackData = ({ chat, id }: Pick<Piece, 'chat' | 'id'>): string | undefined => {
  const data = `${chat.id} ${id}`;
  return data.length > DATA_CHARACTERS_MAX ? undefined : data;
};

const ofCallbackData = (data: string): Omit<OutcomeProof, 'outcome'> | undefined => {
  const [, id, pieceId] = /^(\S+) (.+)$/s.exec(data) ?? [];
  return id === undefined || pieceId === undefined
    ? undefined
    : { chat: { kind: 'dm', id }, pieceId };
};

const valid = <T>(
  values: readonly unknown[],
  validate: (value: unknown) => { readonly ok: true; readonly value: T } | { readonly ok: false },
): T[] =>
  values.flatMap((value) => {
    const checked = validate(value);
    return checked.ok ? [checked.value] : [];
  });
