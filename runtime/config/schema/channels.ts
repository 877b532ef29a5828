/**
 * The configuration's section for channels: the messengers, their accounts, and who may write.
 *
 * Boundary: shape only. `channels/messengers` connects the accounts.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { AnyKey } from '../../../protocols/any-key.ts';
import { CHANNEL_NAME } from '../../../protocols/channel.ts';
import { isSecret, oneOf, record, requestUrl, secret, section } from './fields.ts';

const senders = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { default: [], description });

const url = (description: string) => Type.Optional(requestUrl(description));

/** What accounts of every channel have. */
const common = {
  enabled: Type.Boolean({ default: true, description: 'connect this account' }),
  dmPolicy: oneOf(['pairing', 'allowlist', 'open', 'disabled'], {
    default: 'pairing',
    description:
      'who may write in direct messages: people that an operator approved by a code, those in ' +
      '`allowFrom`, everyone, or no one. `pairing` admits those in `allowFrom`, too',
  }),
  allowFrom: senders('ids of senders that may write in direct messages'),
  groupPolicy: oneOf(['allowlist', 'open', 'disabled'], {
    default: 'allowlist',
    description: 'groups whose messages are accepted: those in `groups`, all, or none',
  }),
  groups: Type.Record(
    AnyKey,
    record('settings of one group', {
      requireMention: Type.Optional(
        Type.Boolean({ description: 'instead of `requireMention` of the account' }),
      ),
      allowFrom: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
          description: 'instead of `groupAllowFrom` of the account',
        }),
      ),
    }),
    {
      default: {},
      description: 'groups by id, or by the id of their guild or workspace, `*` for any other',
    },
  ),
  groupAllowFrom: senders('ids of senders that may write in groups. Empty: everyone in the group'),
  requireMention: Type.Boolean({
    default: true,
    description: 'in a group: only messages that mention the account or reply to it',
  }),
  streaming: oneOf(['edit', 'off'], {
    default: 'edit',
    description:
      'how a reply appears: one message that is edited while the model writes, where the service ' +
      'can, or complete messages only',
  }),
  mediaBytesMax: Type.Integer({
    minimum: 0,
    maximum: 104_857_600,
    default: 10_485_760,
    description: 'size of one received file, bytes; 0: files are not downloaded',
  }),
};

const commonSection = section('one account', common);
/** Settings that accounts of every channel have. */
export type AccountPolicy = Static<typeof commonSection>;

const accounts = <P extends TProperties>(properties: P) =>
  Type.Record(
    Type.String({ pattern: CHANNEL_NAME }),
    section('one account', { ...common, ...properties }),
    {
      default: {},
      additionalProperties: false,
      description: 'by name, of small letters, digits, _ and -, at most 32 characters',
    },
  );

const channel = <P extends TProperties>(description: string, properties: P) =>
  Type.Optional(record(description, { accounts: accounts(properties) }));

const messengers = {
  telegram: channel('Telegram bots', {
    token: secret('token of the bot, from @BotFather'),
    webhookSecret: Type.Optional(
      secret(
        'receive by a webhook instead of polling; Telegram sends this secret with each request',
      ),
    ),
    webhookUrl: url(
      'public HTTPS address of /hooks/telegram/ACCOUNT of this gateway; needs `webhookSecret`',
    ),
    apiUrl: url('a local Bot API server. Default: Telegram’s'),
  }),
  slack: channel('Slack apps', {
    botToken: secret('`xoxb-…`, of the app in its workspace'),
    appToken: Type.Optional(secret('`xapp-…`, for Socket Mode')),
    signingSecret: Type.Optional(secret('for the Events API over HTTP, if there is no `appToken`')),
    apiUrl: url('another server with Slack’s API. Default: Slack’s'),
  }),
  discord: channel('Discord bots', {
    token: secret('token of the bot'),
    apiUrl: url('another server with Discord’s API. Default: Discord’s'),
  }),
  whatsapp: channel('numbers of the WhatsApp Cloud API', {
    accessToken: secret('permanent access token of the system user'),
    phoneNumberId: Type.String({ minLength: 1, description: 'id of the number, not the number' }),
    appSecret: secret('of the Meta app; it signs webhook requests'),
    verifyToken: secret('a text of your choice that Meta repeats when the webhook is registered'),
    apiUrl: url('another server with the Graph API. Default: Meta’s'),
  }),
  webhook: channel('programs that send and receive messages over HTTP (Standard Webhooks)', {
    secret: secret('key of the signatures, `whsec_…` or a text of at least 24 characters'),
    url: url('where replies are posted. Default: replies are not sent'),
  }),
};

/** The names of the channels of this build. */
export const BUILT_IN_CHANNELS: readonly string[] = Object.keys(messengers);

/** A setting that only accounts of one channel have. */
export type AccountField = {
  readonly name: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
};

type AccountSchema = TSchema & Pick<TObject, 'properties' | 'required'>;

/** Of a channel of this build; empty for others. */
export function accountFields(name: string): readonly AccountField[] {
  const found = new Map(Object.entries(messengers)).get(name);
  if (found === undefined) return [];
  const account = found.properties.accounts.patternProperties[CHANNEL_NAME]! as AccountSchema;
  const { properties, required = [] } = account;
  return Object.entries(properties)
    .filter(([key]) => !Object.hasOwn(common, key))
    .map(([key, schema]) => ({
      name: key,
      description: schema.description ?? '',
      isSecret: isSecret(schema),
      isRequired: required.includes(key),
    }));
}

const ofPlugin = section('a channel of a plugin', {
  accounts: accounts({
    config: Type.Record(
      Type.String(),
      Type.Unknown({ description: 'one setting', 'x-allowed': 'any JSON' }),
      { default: {}, description: 'as `accountSchema` of the manifest allows' },
    ),
    secrets: Type.Record(
      Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$' }),
      secret('a value'),
      {
        default: {},
        additionalProperties: false,
        description: 'the secrets that its manifest names',
      },
    ),
  }),
});

export const channelsSection = Type.Object(messengers, {
  description: 'messengers that people write to agents from',
  default: {},
  // by the name of a channel that an enabled plugin declares
  additionalProperties: ofPlugin,
});
