/**
 * The JSON bodies of the generic webhook channel, both ways. They travel with the headers of
 * Standard Webhooks (https://www.standardwebhooks.com): `webhook-id`, `webhook-timestamp`,
 * `webhook-signature`. Published as protocols/schemas/webhook/1.0.json.
 */
import { type Static, Type } from '@sinclair/typebox';
import { INBOUND_CHARACTERS_MAX } from './channel.ts';

const closed = { additionalProperties: false } as const;
const Id = Type.String({ minLength: 1, maxLength: 128 });
const Name = Type.String({ maxLength: 256 });
const ChatKind = Type.Union([Type.Literal('dm'), Type.Literal('group')]);

/** What a program posts to an account. */
export const WebhookInbound = Type.Object(
  {
    type: Type.Optional(
      Type.Union([Type.Literal('message'), Type.Literal('reaction'), Type.Literal('typing')], {
        default: 'message',
        description: 'reaction: `text` is the emoji, `replyTo` the message. typing: without text',
      }),
    ),
    sender: Type.Object(
      { id: Id, name: Type.Optional(Name), username: Type.Optional(Name) },
      { ...closed, description: 'who wrote it; `id` is what `allowFrom` and pairing compare' },
    ),
    chat: Type.Optional(
      Type.Object(
        {
          id: Id,
          kind: Type.Optional(Type.Unsafe<'dm' | 'group'>({ ...ChatKind, default: 'dm' })),
          thread: Type.Optional(Id),
        },
        { ...closed, description: 'default: the direct messages of the sender' },
      ),
    ),
    text: Type.Optional(Type.String({ maxLength: INBOUND_CHARACTERS_MAX, default: '' })),
    messageId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'default: the `webhook-id`' }),
    ),
    mentionsAccount: Type.Optional(
      Type.Boolean({ default: true, description: 'in a group: the message is for the agent' }),
    ),
    replyTo: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  closed,
);
export type WebhookInbound = Static<typeof WebhookInbound>;

/** What an account posts to its `url`: one piece of a message, text or a file. */
export const WebhookOutbound = Type.Object({
  type: Type.Union([Type.Literal('message'), Type.Literal('file')], {
    description: 'file: with `file`, and an empty `text`',
  }),
  id: Type.String({
    description:
      'the `webhook-id`; the same for every attempt, so that a receiver can ignore repeats',
  }),
  account: Type.String(),
  chat: Type.Object({ id: Id, kind: ChatKind, thread: Type.Optional(Id) }),
  text: Type.String(),
  file: Type.Optional(
    Type.Object({
      name: Type.String({ description: 'without a folder' }),
      contentType: Type.String(),
      content: Type.String({ contentEncoding: 'base64', description: 'at most 10 MiB decoded' }),
    }),
  ),
  replyTo: Type.Optional(Type.String()),
});
export type WebhookOutbound = Static<typeof WebhookOutbound>;
