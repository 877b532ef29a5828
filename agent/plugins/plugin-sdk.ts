/**
 * What a plugin imports: `import { definePlugin } from 'troupe/plugin-sdk'`. The bundler resolves
 * this name to this file, so that a plugin uses the form of the running program.
 *
 * Boundary: this file runs in the process of the plugin. It imports types only.
 */
import type {
  ChatRef,
  InboundMedia,
  InboundMessage,
  SendOutcome,
} from '../../protocols/channel.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import type { HookAbout, HookEvent, HookName, HookResult } from '../hooks/hooks.ts';
import type { ModelRequest, ModelStop, ModelUsage } from '../models/model.ts';

/** What a plugin knows about itself. */
export type PluginFacts = {
  readonly id: string;
  /** `plugins.entries.<id>.config`, which the manifest's `configSchema` accepts */
  readonly config: Readonly<Record<string, unknown>>;
  /** by the names that the manifest lists */
  readonly secrets: Readonly<Record<string, string>>;
};

export type CallContext = {
  readonly plugin: PluginFacts;
  /** aborted at the time limit, and when the caller no longer waits */
  readonly signal: AbortSignal;
};

export type ToolCallContext = CallContext & {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  readonly callId: string;
  /** the same for every attempt of one call */
  readonly idempotencyKey: string;
  /** milliseconds since the epoch */
  readonly now: number;
  /** Publishes new output to watchers; it is never part of the result. */
  update(this: void, delta: string): void;
};

/** A text for the model, or one with a mark for failures and with images in base64. */
export type PluginToolResult =
  | string
  | {
      readonly text: string;
      readonly isError?: boolean;
      readonly images?: readonly { readonly mimeType: string; readonly data: string }[];
    };

/** A tool that the manifest declares under the same name. */
export type PluginTool = {
  readonly name: string;
  /**
   * @param args accepted by the manifest's `parameters`
   * @returns with `returns` in the manifest any JSON that this schema accepts, else a
   *   PluginToolResult
   */
  run(args: Record<string, unknown>, context: ToolCallContext): unknown;
};

/** Hooks that may wait for another process: `tool_result_persist` is synchronous. */
export type PluginHookName = Exclude<HookName, 'tool_result_persist'>;

export type PluginHooks = {
  readonly [Name in PluginHookName]?: (
    event: HookEvent<Name>,
    about: HookAbout & CallContext,
  ) => Promise<HookResult<Name> | undefined> | HookResult<Name> | undefined;
};

/** One part of a model's answer. The answer is complete when the stream ends. */
export type PluginModelEvent =
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reasoning'; readonly delta: string }
  /** a call of a tool, with its arguments as a JSON value */
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly args: unknown }
  | ({ readonly type: 'usage' } & Partial<ModelUsage>)
  | { readonly type: 'stop'; readonly stop: ModelStop };

export type ModelCallContext = CallContext & {
  /** the same for every attempt of one call */
  readonly idempotencyKey: string;
};

/** A provider that the manifest declares under the same id. */
export type PluginProvider = {
  readonly id: string;
  /** Answers one request. A provider that cannot stream yields its whole text at once. */
  stream(request: ModelRequest, context: ModelCallContext): AsyncIterable<PluginModelEvent>;
};

/** An account of a channel, as `channels.<id>.accounts.<name>` has it. */
export type PluginAccount = {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
};

/** Between a channel that is connected and troupe. */
export type ChannelConnection = {
  /** as last stored for the same identity; undefined: from now on */
  readonly position: unknown;
  /** the identity that `position` belongs to */
  readonly identity: string | undefined;
  /** aborted when the connection is no longer wanted */
  readonly signal: AbortSignal;
  /** Call it once, when messages arrive from now on. `identity`: of the account at the service. */
  connected(this: void, identity: string, name?: string): Promise<void>;
  /**
   * Resolves when the messages are stored or refused; only then may they be acknowledged to the
   * service. A repeated `key` is ignored. @throws Error: acknowledge nothing
   */
  messages(this: void, messages: readonly InboundMessage[]): Promise<void>;
  /** Resolves when the position is stored. Call it after `messages` of everything before it. */
  setPosition(this: void, position: unknown): Promise<void>;
  /** A person types in the chat. */
  typing(this: void, chat: ChatRef): void;
};

/** One piece of a reply; the same `id` for all attempts. */
export type ChannelPiece = {
  readonly id: string;
  readonly chat: ChatRef;
  /** in the dialect of the channel */
  readonly text: string;
  /** the same without formatting */
  readonly plain: string;
  readonly replyTo?: string;
  /** from 1 */
  readonly attempt: number;
  /** epoch milliseconds of the first attempt */
  readonly firstTriedAt: number;
};

/** One file that an agent sends, at most the `fileBytesMax` of the manifest. */
export type ChannelFilePiece = Omit<ChannelPiece, 'text' | 'plain'> & {
  readonly file: {
    /** without a folder */
    readonly name: string;
    readonly contentType: string;
    /** base64 */
    readonly data: string;
  };
};

/** Why a connection ended. `isFinal`: it would end again until an operator changes something. */
export type ConnectionEnd = { readonly error: string; readonly isFinal?: boolean };

/**
 * A channel that the manifest declares under the same id. Any method may be called for an account
 * that is not started. A method that throws leaves the outcome of a piece unknown.
 */
export type PluginChannel = {
  readonly id: string;
  /** Connects and receives until the connection ends or its signal is aborted. */
  start(
    account: PluginAccount,
    connection: ChannelConnection,
    context: CallContext,
  ): Promise<ConnectionEnd | undefined>;
  /** One request to the service, without a retry. */
  send(account: PluginAccount, piece: ChannelPiece, context: CallContext): Promise<SendOutcome>;
  /** One request to the service, without a retry; `fileBytesMax` of the manifest requires it. */
  sendFile?(
    account: PluginAccount,
    piece: ChannelFilePiece,
    context: CallContext,
  ): Promise<SendOutcome>;
  /** Finds out what happened to a piece of text whose outcome is unknown. */
  reconcile?(
    account: PluginAccount,
    piece: ChannelPiece,
    context: CallContext,
  ): Promise<SendOutcome>;
  /** Replaces the text of a sent message; idempotent. */
  edit?(
    account: PluginAccount,
    piece: ChannelPiece & { readonly messageId: string },
    context: CallContext,
  ): Promise<SendOutcome>;
  typing?(account: PluginAccount, chat: ChatRef, context: CallContext): Promise<void>;
  /** The bytes of a file in base64. */
  download?(account: PluginAccount, media: InboundMedia, context: CallContext): Promise<string>;
};

/** The default export of `src/index.ts`. */
export type PluginDefinition = {
  /** the id of the manifest */
  readonly name: string;
  /** the version of package.json */
  readonly version: string;
  /** Called once, before the first call; a failure is a failed start. */
  start?(plugin: PluginFacts): Promise<void> | void;
  /** Called before the process ends on purpose; it has 2 seconds. */
  stop?(): Promise<void> | void;
  readonly tools?: readonly PluginTool[];
  readonly hooks?: PluginHooks;
  readonly providers?: readonly PluginProvider[];
  readonly channels?: readonly PluginChannel[];
};

/**
 * Returns its argument; it exists so that editors and compilers check a plugin.
 *
 * @example
 * ```ts
 * import { definePlugin } from 'troupe/plugin-sdk';
 *
 * const faq = definePlugin({
 *   name: 'faq',
 *   version: '1.0.0',
 *   tools: [{ name: 'faq', run: ({ question }) => `I do not know: ${String(question)}` }],
 * });
 * assert.equal(faq.name, 'faq');
 * ```
 */
export const definePlugin = (plugin: PluginDefinition): PluginDefinition => plugin;

/**
 * A failure with a code, so that the caller knows what to do: repeat later, or give up.
 *
 * @example
 * ```ts
 * import { PluginError } from 'troupe/plugin-sdk';
 *
 * const error = new PluginError('UNAVAILABLE', 'the tracker does not answer');
 * assert.equal(error.code, 'UNAVAILABLE');
 * ```
 */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly code: ErrorCode;
  /** when a repetition may succeed, milliseconds */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: { readonly retryAfterMs?: number } = {}) {
    super(message);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
