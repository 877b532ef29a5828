/**
 * The port to language models: one request in, a stream of events out, the same for every provider.
 *
 * Boundary: a provider holds no session and keeps nothing between calls. It never retries (the
 * runtime does, from a committed intent) and never writes to a log.
 *
 * Invariants:
 *  1. A good stream ends with exactly one `done`; its `text` is the concatenation of all `text`
 *     deltas.
 *  2. Every other end is a thrown TroupeError whose code says what the caller may do (listed
 *     below).
 *  3. Neither event nor error ever holds an API key or the value of a configured header.
 *  4. When the consumer stops reading, aborts, or waits too long, the connection is closed.
 *
 *  - RATE_LIMIT_EXCEEDED: 429; try again after `retryAfterMs`, as the provider asked
 *  - UNAVAILABLE: 5xx, overloaded, not reached, cut, or ended without its end event; try again
 *  - DEADLINE_EXCEEDED: no byte for longer than `idleTimeoutMs`; try again
 *  - UNAUTHORIZED: no key, or one that the provider refused; the config must change
 *  - FORBIDDEN: 403, or a quota or budget that is used up; ask another provider
 *  - PAYLOAD_TOO_LARGE: 413; shorten the conversation
 *  - INVALID_ARGUMENT: any other 4xx, with what the provider said; do not try again, unless
 *    `details.reason` is `context_length`: then compact the conversation
 *  - INTERNAL: an event that is not of the protocol; ask another provider
 *  - CANCELLED: the caller's signal
 *
 * `details.provider` always, `details.status` when there was an HTTP answer.
 */
import type { ImagePart } from '../../protocols/content.ts';
import type { MODEL_APIS, OFFLINE_PROVIDER } from '../../protocols/model-providers.ts';
import type { ToolCall } from '../../protocols/session.ts';

export type { ToolCall };

/**
 * What a provider wants back, unread and unchanged, with the assistant message it came with: signed
 * or encrypted reasoning. JSON. Optional: without it a conversation still works, only the model's
 * earlier reasoning is lost. Another provider or model ignores it.
 */
export type Continuation = {
  readonly provider: string;
  readonly model: string;
  readonly blocks: readonly unknown[];
};

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string; readonly images?: readonly ImagePart[] }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls?: readonly ToolCall[];
      readonly continuation?: Continuation;
    }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly result: string;
      readonly isError: boolean;
      readonly images?: readonly ImagePart[];
    };

/**
 * A tool as a model sees it. `parameters` is the JSON schema of an object; names match
 * `[A-Za-z0-9_-]{1,64}`.
 */
export type ToolSpec = {
  readonly name: string;
  /** Other names that a call may use; providers are sent `name` only. */
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** The protocol that a provider speaks. */
export type ModelApi = (typeof MODEL_APIS)[number] | typeof OFFLINE_PROVIDER;

/** `off` and absent ask for nothing: the model does what it does by default. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';

export type ModelRequest = {
  /** the provider's own id, without the provider's name */
  readonly model: string;
  readonly system: string;
  /** oldest first; calls without a result, and results without a call, are mended before sending */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** tokens of the answer, reasoning included; default the model's */
  readonly maxTokens?: number;
  readonly thinking?: ThinkingLevel;
};

/**
 * `tools`: the caller runs `calls` and asks again. `length`: cut by `maxTokens` or the context
 * window.
 */
export type ModelStop = 'end' | 'tools' | 'length' | 'refusal';

export type ModelUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** of `inputTokens`, those that the provider had cached */
  readonly cachedInputTokens?: number;
  /** of `inputTokens`, those that the provider put into its cache for a price of their own */
  readonly cacheWriteTokens?: number;
};

export type ModelDone = {
  readonly kind: 'done';
  readonly text: string;
  /**
   * empty unless `stop` is `tools`; `args` that are no JSON come as the text they are, for the tool
   * to refuse
   */
  readonly calls: readonly ToolCall[];
  readonly stop: ModelStop;
  /** whole request and answer; cached and reasoning tokens are included */
  readonly usage: ModelUsage;
  readonly continuation?: Continuation;
};

export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | ModelDone;

export type ModelInfo = {
  readonly id: string;
  /** tokens of request and answer together */
  readonly contextWindow: number;
  /** most tokens of one answer */
  readonly maxTokens: number;
  /** US dollars per million tokens; without it no cost is counted */
  readonly price?: ModelPrice;
  /** takes images in; a model that does not is told that there was one. Default true */
  readonly images?: boolean;
  /**
   * whether it takes its API's parameters for reasoning; default what is known of its family
   * (thinking.ts), and false of a family that is not known
   */
  readonly thinking?: boolean;
};

export type ModelPrice = TokenPrices & {
  /** what holds for the whole call once its input is longer than so many tokens */
  readonly above?: TokenPrices & { readonly inputTokens: number };
};

/** US dollars per million tokens. */
export type TokenPrices = {
  readonly input: number;
  readonly output: number;
  /** of tokens read from the provider's cache; default `input` */
  readonly cachedInput?: number;
  /** of tokens put into the provider's cache; default `input` */
  readonly cacheWrite?: number;
};

export type StreamOptions = {
  readonly signal: AbortSignal;
  /** the intent's id: the same for every attempt of one call */
  readonly idempotencyKey: string;
  /** longest wait for the next byte, connecting included, milliseconds */
  readonly idleTimeoutMs: number;
};

export interface ModelProvider {
  readonly id: string;
  /** models known by name; others may be asked for as well */
  readonly models: readonly ModelInfo[];
  /** Nothing happens before the first `next()`. @throws TroupeError, see the file's head */
  stream(request: ModelRequest, options: StreamOptions): AsyncIterable<ModelEvent>;
}
