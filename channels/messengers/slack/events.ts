/**
 * Events of Slack as inbound messages. Pure. One post can arrive as the events `message` and
 * `app_mention`, with two event ids; its channel and `ts` are the same, so they are the key.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import {
  INBOUND_CHARACTERS_MAX,
  INBOUND_MEDIA_MAX,
  type InboundMedia,
  type InboundMessage,
} from '../../../protocols/channel.ts';
import { checker } from '../../../protocols/check.ts';
import { defined } from '../../../protocols/defined.ts';

const maybe = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));
const Id = Type.String({ minLength: 1, maxLength: 64 });
const Text = Type.String();

const SlackFile = Type.Object({
  id: Id,
  name: maybe(Text),
  mimetype: maybe(Text),
  size: maybe(Type.Number()),
  mode: maybe(Text),
});
const EventCallback = Type.Object({
  team_id: maybe(Id),
  event: Type.Object({
    type: Text,
    subtype: maybe(Text),
    channel: maybe(Id),
    channel_type: maybe(Text),
    user: maybe(Id),
    bot_id: maybe(Id),
    text: maybe(Text),
    ts: maybe(Id),
    event_ts: maybe(Id),
    thread_ts: maybe(Id),
    parent_user_id: maybe(Id),
    files: maybe(Type.Array(SlackFile)),
    reaction: maybe(Type.String({ maxLength: 100 })),
    item: maybe(Type.Object({ type: Text, channel: maybe(Id), ts: maybe(Id) })),
    item_user: maybe(Id),
  }),
  authorizations: maybe(Type.Array(Type.Object({ user_id: maybe(Id) }))),
});
type Callback = (typeof EventCallback)['static'];
type Event = Callback['event'];

const check = checker(EventCallback);

/** Subtypes that are messages of people; all others are edits, deletions and notices. */
const SUBTYPES = new Set(['file_share', 'thread_broadcast', 'me_message']);
/** Files without bytes: deleted, over the workspace's limit, or of another service. */
const EMPTY_MODES = new Set(['tombstone', 'hidden_by_limit', 'external']);

/**
 * @param payload of an envelope of type `events_api`, or the body of the Events API
 * @returns undefined: not a message or reaction of a person
 */
export function messageOf(payload: unknown): InboundMessage | undefined {
  const checked = check(payload);
  if (!checked.ok) return undefined;
  const { event, authorizations, team_id } = checked.value;
  const bot = authorizations?.[0]?.user_id ?? undefined;
  if (event.bot_id || !event.user || event.user === bot) return undefined;
  const guild = team_id ?? undefined;
  if (event.type === 'reaction_added') return reactionOf(event, bot, guild);
  const isMessage = event.type === 'message' || event.type === 'app_mention';
  if (!isMessage || (event.subtype && !SUBTYPES.has(event.subtype))) return undefined;
  return textMessageOf(event, bot, guild);
}

function textMessageOf(
  { channel, ts, user, ...event }: Event,
  bot: string | undefined,
  guild: string | undefined,
): InboundMessage | undefined {
  if (!channel || !ts || !user) return undefined;
  const raw = event.text ?? '';
  const media = mediaOf(event.files ?? []);
  const isNamed = event.type === 'app_mention' || (!!bot && raw.includes(`<@${bot}>`));
  return {
    key: `${channel}:${ts}`,
    kind: 'message',
    messageId: ts,
    chat: {
      kind: kindOf(channel, event.channel_type),
      id: channel,
      ...defined({ thread: event.thread_ts ?? undefined, guild }),
    },
    sender: { id: user },
    text: plainText(raw, bot).slice(0, INBOUND_CHARACTERS_MAX),
    mentionsAccount: isNamed || (!!bot && event.parent_user_id === bot),
    ...(media.length === 0 ? {} : { media }),
    sentAt: Math.round(Number(ts) * 1000),
  };
}

function reactionOf(
  { user, reaction, item, event_ts, item_user }: Event,
  bot: string | undefined,
  guild: string | undefined,
): InboundMessage | undefined {
  if (!user || !reaction || !event_ts || !item?.channel || !item.ts) return undefined;
  return {
    key: `${item.channel}:${item.ts}:${user}:${reaction.slice(0, 60)}:${event_ts}`.slice(0, 200),
    kind: 'reaction',
    messageId: event_ts,
    chat: { kind: kindOf(item.channel), id: item.channel, ...defined({ guild }) },
    sender: { id: user },
    text: `:${reaction}:`,
    mentionsAccount: !!bot && item_user === bot,
    replyTo: item.ts,
    sentAt: Math.round(Number(event_ts) * 1000),
  };
}

/** Direct messages with several people (`mpim`) are groups. */
const kindOf = (channel: string, type?: string | null) =>
  (type ? type === 'im' : channel.startsWith('D')) ? 'dm' : 'group';

const mediaOf = (files: readonly (typeof SlackFile)['static'][]): InboundMedia[] =>
  files
    .filter(({ mode }) => !EMPTY_MODES.has(mode ?? ''))
    .slice(0, INBOUND_MEDIA_MAX)
    .map(({ id, name, mimetype, size }) => ({
      kind: mediaKind(mimetype ?? ''),
      id,
      ...defined({
        name: name ?? undefined,
        mimeType: mimetype ?? undefined,
        bytes: size ?? undefined,
      }),
    }));

const mediaKind = (mimeType: string): InboundMedia['kind'] => {
  const [type] = mimeType.split('/');
  return type === 'image' || type === 'audio' || type === 'video' ? type : 'file';
};

/**
 * Slack's markup as text: links as `label (url)`, names of channels, `&amp;` and the like. The
 * mention of the account at the start is removed, so that `@bot /new` is a command.
 */
export function plainText(markup: string, bot: string | undefined): string {
  const own = bot === undefined ? undefined : `<@${bot}>`;
  const text = own && markup.startsWith(own) ? markup.slice(own.length).trimStart() : markup;
  return text
    .replace(/<#\w+\|([^<>]*)>/g, '#$1')
    .replace(/<!(?:subteam\^\w+\|)?@?([^<>|]+)(?:\|[^<>]*)?>/g, '@$1')
    .replace(/<((?:https?|mailto|tel):[^<>|]*)(?:\|([^<>]*))?>/g, linkText)
    .replace(/&(lt|gt|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name]);
}

const ENTITIES = { lt: '<', gt: '>', amp: '&' };

const linkText = (_: string, url: string, label: string | undefined): string =>
  label === undefined || label === url || url.endsWith(`:${label}`) || url.endsWith(`//${label}`)
    ? url
    : `${label} (${url})`;
