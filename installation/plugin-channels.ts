/**
 * Channels of plugins as adapters of messengers. The plugin's process connects and sends;
 * admission, order, chunks, retries and dead letters are the runtime's, as for every channel.
 *
 * Invariants: what a plugin delivers is checked before it enters. A process that ended after it had
 * received a piece leaves the outcome unknown; a piece that it never received was not sent.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import type { ChannelDeclaration } from '../agent/plugins/manifest.ts';
import type { DeclaredChannel } from '../agent/plugins/open-plugins.ts';
import type { Plugin } from '../agent/plugins/plugin.ts';
import type { ChannelFilePiece } from '../agent/plugins/plugin-sdk.ts';
import type {
  Abilities,
  AccountAdapter,
  AccountContext,
  AccountStatus,
  ChannelAdapter,
  Connection,
  FilePiece,
  Piece,
} from '../channels/messengers/adapter.ts';
import {
  type ChatRef,
  type ConnectOutput,
  INBOUND_CHARACTERS_MAX,
  INBOUND_MEDIA_MAX,
  type InboundMedia,
  type InboundMessage,
  type SendOutcome,
} from '../protocols/channel.ts';
import { type CheckAnswer, checker, describeErrors } from '../protocols/check.ts';
import { defined } from '../protocols/defined.ts';
import { type ErrorData, errorData, ERRORS, TroupeError } from '../protocols/errors.ts';
import type { Secret } from '../runtime/config/index.ts';
import { schemaCheck } from '../runtime/index.ts';

/** What an account of a plugin's channel has beside the settings of every account. */
export type PluginAccountSettings = {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, Secret>>;
};

/** The longest connection: Node's longest timer. */
const CONNECTION_MS = 2 ** 31 - 1;
const REQUEST_MS = 60_000;
const POSITION_CHARACTERS_MAX = 2_048;
const MESSAGES_MAX = 1_000;

const only = { additionalProperties: false };
const short = (maxLength: number) => Type.String({ maxLength });
const optional = <S extends TSchema>(schema: S) => Type.Optional(schema);
const Id = Type.String({ minLength: 1, maxLength: 128 });
const Chat = Type.Object(
  {
    kind: Type.Union([Type.Literal('dm'), Type.Literal('group')]),
    id: Id,
    thread: optional(Id),
    guild: optional(Id),
  },
  only,
);
const Media = Type.Object(
  {
    kind: Type.Union(['image', 'audio', 'video', 'file'].map((kind) => Type.Literal(kind))),
    id: short(2_048),
    name: optional(short(512)),
    mimeType: optional(short(128)),
    bytes: optional(Type.Integer({ minimum: 0 })),
  },
  only,
);
const Inbound = Type.Object(
  {
    key: Type.String({ minLength: 1, maxLength: 200 }),
    kind: Type.Union([Type.Literal('message'), Type.Literal('reaction')]),
    messageId: short(512),
    chat: Chat,
    sender: Type.Object(
      { id: Id, name: optional(short(512)), username: optional(short(512)) },
      only,
    ),
    text: short(INBOUND_CHARACTERS_MAX),
    mentionsAccount: Type.Boolean(),
    media: optional(Type.Array(Media, { maxItems: INBOUND_MEDIA_MAX })),
    replyTo: optional(short(512)),
    sentAt: optional(Type.Integer({ minimum: 0 })),
  },
  only,
);
const checkEvent = checker(
  Type.Union([
    Type.Object(
      { type: Type.Literal('connected'), identity: Id, name: optional(short(512)) },
      only,
    ),
    Type.Object(
      { type: Type.Literal('messages'), messages: Type.Array(Inbound, { maxItems: MESSAGES_MAX }) },
      only,
    ),
    Type.Object({ type: Type.Literal('position'), position: Type.Unknown() }, only),
    Type.Object({ type: Type.Literal('typing'), chat: Chat }, only),
  ]),
);
const Failure = Type.Object({
  code: Type.Union(Object.keys(ERRORS).map((code) => Type.Literal(code))),
  message: short(4_096),
  retryAfterMs: optional(Type.Number({ minimum: 0, maximum: 86_400_000 })),
});
const checkOutcome = checker(
  Type.Union([
    Type.Object({ status: Type.Literal('sent'), messageId: optional(short(512)) }, only),
    Type.Object(
      {
        status: Type.Literal('not_sent'),
        error: Failure,
        isFinal: optional(Type.Literal(true)),
      },
      only,
    ),
    Type.Object({ status: Type.Literal('unknown'), error: Failure }, only),
  ]),
);
const checkEnd = checker(
  Type.Object({ error: short(4_096), isFinal: optional(Type.Boolean()) }, only),
);

/** The adapters of the channels of plugins, by channel, as a table of adapters. */
export const pluginAdapters = (
  channels: readonly DeclaredChannel[],
): Readonly<Record<string, () => Promise<ChannelAdapter>>> =>
  Object.fromEntries(
    channels.map(({ plugin, declared }) => [
      declared.id,
      () => Promise.resolve(pluginChannel(plugin, declared) as ChannelAdapter),
    ]),
  );

export const pluginChannel = (
  plugin: Plugin,
  declared: ChannelDeclaration,
): ChannelAdapter<PluginAccountSettings> => ({
  id: declared.id,
  abilities: abilitiesOf(declared),
  create: (context) => {
    const account = new PluginChannelAccount(plugin, declared, context);
    return {
      start: (connection) => account.start(connection),
      stop: () => account.stop(),
      isConnected: () => account.isConnected(),
      getStatus: () => account.getStatus(),
      send: (piece, signal) => account.deliver('send', piece, signal),
      ...(declared.fileBytesMax !== undefined && {
        sendFile: ({ file, ...piece }, signal) =>
          account.deliver('sendFile', { ...piece, file: encoded(file) }, signal),
      }),
      ...(declared.reconcile && {
        reconcile: (piece, signal) => account.deliver('reconcile', piece, signal),
      }),
      ...(declared.edit && {
        edit: (messageId, piece, signal) =>
          account.deliver('edit', { ...piece, messageId }, signal),
      }),
      ...(declared.typingEveryMs !== undefined && {
        typing: (chat, signal) => account.typing(chat, signal),
      }),
      ...(declared.mediaBytesMax !== undefined && {
        download: (media, signal) => account.download(media, signal),
      }),
    } satisfies AccountAdapter;
  },
});

const abilitiesOf = (declared: ChannelDeclaration): Abilities => {
  const { dialect = 'plain', charactersMax, edit = false, threads = false } = declared;
  const { reconcile = false, typingEveryMs, idempotentSendMs, mediaBytesMax } = declared;
  const { pace = { ofChatMs: 0, ofAccountMs: 0 } } = declared;
  const media = mediaBytesMax === undefined ? {} : { media: { bytesMax: mediaBytesMax } };
  const { fileBytesMax: bytesMax } = declared;
  const files = bytesMax === undefined ? {} : { files: { bytesMax, reconcile: false } };
  const optionals = { ...defined({ typingEveryMs, idempotentSendMs }), ...media, ...files };
  return { dialect, charactersMax, edit, threads, reconcile, pace, ...optionals };
};

const encoded = ({ contents, ...file }: FilePiece['file']): ChannelFilePiece['file'] => ({
  ...file,
  data: Buffer.from(contents).toString('base64'),
});

class PluginChannelAccount {
  readonly #plugin: Plugin;
  readonly #declared: ChannelDeclaration;
  readonly #context: AccountContext<PluginAccountSettings>;
  #stop = new AbortController();
  #isConnected = false;
  #lastPongAt: number | undefined;

  constructor(
    plugin: Plugin,
    declared: ChannelDeclaration,
    context: AccountContext<PluginAccountSettings>,
  ) {
    this.#plugin = plugin;
    this.#declared = declared;
    this.#context = context;
  }

  async start(connection: Connection): Promise<ConnectOutput> {
    this.#stop = new AbortController();
    const signal = AbortSignal.any([connection.signal, this.#stop.signal]);
    try {
      await assertSettings(this.#declared, this.#context.settings);
    } catch (error) {
      return { error: errorData(error), isFinal: true };
    }
    const { position, identity } = connection;
    try {
      const input = { op: 'start', ...defined({ position, identity }) };
      const onEvent = (event: unknown) => this.#onEvent(event, connection);
      const end = await this.#call(input, { signal, timeoutMs: CONNECTION_MS, onEvent });
      return endOf(end);
    } catch (error) {
      return { error: errorData(error), isFinal: false };
    } finally {
      this.#isConnected = false;
    }
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return Promise.resolve();
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  getStatus(): AccountStatus {
    return { isConnected: this.#isConnected, ...defined({ lastPongAt: this.#lastPongAt }) };
  }

  async deliver(
    op: 'send' | 'sendFile' | 'reconcile' | 'edit',
    piece: ChannelFilePiece | (Piece & { readonly messageId?: string }),
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let mayBeSent = false;
    const onSent = () => void (mayBeSent = true);
    try {
      await assertSettings(this.#declared, this.#context.settings);
      const value = await this.#call({ op, piece }, { signal, timeoutMs: REQUEST_MS, onSent });
      const outcome = checkOutcome(value) as CheckAnswer<SendOutcome>;
      if (outcome.ok) return outcome.value;
      throw this.#invalid(`an outcome: ${describeErrors(outcome.errors)}`);
    } catch (thrown) {
      const error = errorData(thrown);
      return mayBeSent ? { status: 'unknown', error } : notSent(error);
    }
  }

  async typing(chat: ChatRef, signal: AbortSignal): Promise<void> {
    await this.#call({ op: 'typing', chat }, { signal, timeoutMs: REQUEST_MS }).catch(() => {});
  }

  async download(media: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    const data = await this.#call({ op: 'download', media }, { signal, timeoutMs: REQUEST_MS });
    if (typeof data !== 'string') throw this.#invalid('a file that is not base64');
    const bytes = Buffer.from(data, 'base64');
    const { mediaBytesMax = 0 } = this.#declared;
    if (bytes.length <= mediaBytesMax) return bytes;
    const why = `the file has ${bytes.length} bytes, at most ${mediaBytesMax}`;
    throw new TroupeError('PAYLOAD_TOO_LARGE', why);
  }

  /** @throws TroupeError, which the plugin receives as an error of its event */
  async #onEvent(event: unknown, connection: Connection): Promise<void> {
    this.#lastPongAt = this.#context.clock.wallMs();
    const checked = checkEvent(event);
    if (!checked.ok) throw this.#invalid(`an event: ${describeErrors(checked.errors)}`);
    const { value } = checked;
    switch (value.type) {
      case 'connected':
        await connection.onConnected(value.identity, value.name);
        this.#isConnected = true;
        return undefined;
      case 'messages':
        return this.#context.onMessages(value.messages as readonly InboundMessage[]);
      case 'position':
        if ((JSON.stringify(value.position) ?? '').length > POSITION_CHARACTERS_MAX)
          throw this.#invalid(`a position of more than ${POSITION_CHARACTERS_MAX} characters`);
        return connection.onPosition(value.position);
      case 'typing':
        return this.#context.onTyping(value.chat);
    }
  }

  #call(
    input: Readonly<Record<string, unknown>>,
    more: Pick<Parameters<Plugin['call']>[0], 'signal' | 'timeoutMs' | 'onEvent' | 'onSent'>,
  ): Promise<unknown> {
    const { account, settings } = this.#context;
    const secrets = Object.entries(settings.secrets).map(([name, one]) => [name, one.reveal()]);
    const given = { name: account, config: settings.config, secrets: Object.fromEntries(secrets) };
    const call = { kind: 'channel', name: this.#declared.id, about: {} } as const;
    return this.#plugin.call({ ...call, input: { ...input, account: given }, ...more });
  }

  #invalid(what: string): TroupeError {
    const why = `the channel ${this.#declared.id} of the plugin ${this.#plugin.id} returned ${what}`;
    this.#plugin.onInvalid(why);
    return new TroupeError('INTERNAL', why);
  }
}

/** Never received by the plugin; another attempt fails as well when its settings are wrong. */
const notSent = (error: ErrorData): SendOutcome => ({
  status: 'not_sent',
  error,
  ...(error.code === 'INVALID_ARGUMENT' ? { isFinal: true as const } : {}),
});

const endOf = (value: unknown): ConnectOutput => {
  const end = checkEnd(value);
  const message = end.ok ? end.value.error : 'the connection ended';
  const isFinal = end.ok && end.value.isFinal === true;
  return { error: { code: isFinal ? 'UNAUTHORIZED' : 'UNAVAILABLE', message }, isFinal };
};

/** @throws TroupeError INVALID_ARGUMENT that says what to correct */
async function assertSettings(
  { id, accountSchema = {}, accountSecrets = [] }: ChannelDeclaration,
  { config, secrets }: PluginAccountSettings,
): Promise<void> {
  const check = await schemaCheck(accountSchema);
  const errors = check(config);
  const missing = accountSecrets.filter((name) => secrets[name] === undefined);
  const more = Object.keys(secrets).filter((name) => !accountSecrets.includes(name));
  const faults = [
    ...(errors.length > 0 ? [`config: ${describeErrors(errors)}`] : []),
    ...missing.map((name) => `secrets.${name} is missing`),
    ...more.map((name) => `secrets.${name} is not a secret that the manifest names`),
  ];
  if (faults.length === 0) return;
  throw new TroupeError('INVALID_ARGUMENT', `an account of ${id}: ${faults.join('; ')}`);
}
