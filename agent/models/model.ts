/**
 * The port to language models: one request, a stream of events, the same for every provider.
 *
 * Boundary: a provider has no session state and stores nothing between calls. It never retries (the
 * runtime retries from a committed intent) and never writes to a log.
 *
 * Invariants:
 *  1. A successful stream ends with exactly one `done`; its `text` is the concatenation of all
 *     `text` deltas.
 *  2. Every other end throws a TroupeError whose code tells the caller what to do (listed below).
 *  3. Events and errors never contain an API key or the value of a configured header.
 *  4. The connection is closed when the consumer stops reading, aborts, or exceeds the time limit.
 *
 *  - RATE_LIMIT_EXCEEDED: 429; retry after `retryAfterMs`, which the provider sent
 *  - UNAVAILABLE: 5xx, overloaded, unreachable, cut, or ended without an end event; retry
 *  - DEADLINE_EXCEEDED: no byte for longer than `idleTimeoutMs`; retry
 *  - UNAUTHORIZED: no key, or a refused one; change the configuration
 *  - FORBIDDEN: 403, or an exhausted quota or budget; use another provider
 *  - PAYLOAD_TOO_LARGE: 413; shorten the conversation
 *  - INVALID_ARGUMENT: any other 4xx, with the provider's message; do not retry. If
 *    `details.reason` is `context_length`, compact the conversation
 *  - INTERNAL: an event that violates the protocol; use another provider
 *  - CANCELLED: the caller's signal
 *
 * `details.provider` is always set, `details.status` after an HTTP response.
 */
import type { Embedder } from '../../memory/index.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { MODEL_APIS, OFFLINE_PROVIDER } from '../../protocols/models/model-providers.ts';
import type { ToolCall } from '../../protocols/session.ts';

export type { ToolCall };

/**
 * Opaque JSON that a provider requires back unchanged with its assistant message: signed or
 * encrypted reasoning. Optional: without it the conversation works, but the model's earlier
 * reasoning is lost. Other providers and models ignore it.
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
 * A tool in a model request. `parameters` is the JSON schema of an object; names match
 * `[A-Za-z0-9_-]{1,64}`.
 */
export type ToolSpec = {
  readonly name: string;
  /** Other names that a call may use; requests contain only `name`. */
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** The protocol of a provider. */
export type ModelApi = (typeof MODEL_APIS)[number] | typeof OFFLINE_PROVIDER;

/** `off` and absent send no thinking parameter: the model uses its default. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';

export type ModelRequest = {
  /** the provider's own id, without the provider's name */
  readonly model: string;
  readonly system: string;
  /** oldest first; calls without a result and results without a call are repaired before sending */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** maximum tokens of the answer, including reasoning; default the model's */
  readonly maxTokens?: number;
  readonly thinking?: ThinkingLevel;
};

/**
 * `tools`: the caller runs `calls` and sends another request. `length`: cut by `maxTokens` or the
 * context window.
 */
export type ModelStop = 'end' | 'tools' | 'length' | 'refusal';

export type ModelUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** part of `inputTokens` that the provider read from its cache */
  readonly cachedInputTokens?: number;
  /** part of `inputTokens` that the provider wrote to its cache at a separate price */
  readonly cacheWriteTokens?: number;
};

export type ModelDone = {
  readonly kind: 'done';
  readonly text: string;
  /**
   * empty unless `stop` is `tools`; `args` that are not valid JSON stay a string, and the tool
   * refuses them
   */
  readonly calls: readonly ToolCall[];
  readonly stop: ModelStop;
  /** of the whole request and answer, including cached and reasoning tokens */
  readonly usage: ModelUsage;
  readonly continuation?: Continuation;
};

export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | ModelDone;

export type ModelInfo = {
  readonly id: string;
  /** context window: tokens of request and answer together */
  readonly contextWindow: number;
  /** maximum tokens of one answer */
  readonly maxTokens: number;
  /** US dollars per million tokens; without it the cost is unknown */
  readonly price?: ModelPrice;
  /** whether it accepts images; otherwise a line of text replaces each image. Default true */
  readonly images?: boolean;
  /**
   * whether it accepts its API's reasoning parameters; default by model family (thinking.ts), false
   * for an unknown family
   */
  readonly thinking?: boolean;
};

export type ModelPrice = TokenPrices & {
  /** prices of the whole call when its input is longer than this number of tokens */
  readonly above?: TokenPrices & { readonly inputTokens: number };
};

/** US dollars per million tokens. */
export type TokenPrices = {
  readonly input: number;
  readonly output: number;
  /** per token read from the provider's cache; default `input` */
  readonly cachedInput?: number;
  /** per token written to the provider's cache; default `input` */
  readonly cacheWrite?: number;
};

export type StreamOptions = {
  readonly signal: AbortSignal;
  /** the intent's id: the same for every attempt of one call */
  readonly idempotencyKey: string;
  /** maximum wait for the next byte, including connection setup, milliseconds */
  readonly idleTimeoutMs: number;
};

export interface ModelProvider {
  readonly id: string;
  /** known models; requests may use others */
  readonly models: readonly ModelInfo[];
  /** Does nothing before the first `next()`. @throws TroupeError, see the file's head */
  stream(request: ModelRequest, options: StreamOptions): AsyncIterable<ModelEvent>;
  /** absent: its API has no embeddings. Opens no connection */
  embedder?(settings: EmbeddingSettings): Embedder;
}

export type EmbeddingSettings = {
  /** the provider's name of the model */
  readonly model: string;
  /** components of a vector, for models that can shorten it; default: all */
  readonly dimensions?: number | undefined;
};
