/**
 * Embedder: turns texts into vectors of one model. Texts that mean the same have vectors in nearly
 * the same direction, also in different languages.
 *
 * Adapters: agent/models. Contract: test/agent/models/embedders.test.ts.
 */
import type { Usage } from '../protocols/models/model-usage.ts';

/** Some models embed a question and the text that answers it in different ways. */
export type EmbeddedAs = 'document' | 'query';

export type Embedded = {
  /** one of each text, in their order; all of the same length, finite and not zero */
  readonly vectors: readonly Float32Array[];
  readonly usage: Usage;
};

export interface Embedder {
  /** `provider/model` */
  readonly name: string;
  /** Only vectors of the same identity are compared: provider, address, model and dimensions. */
  readonly identity: string;
  /**
   * One request. @param texts 1 to EMBEDDED_AT_ONCE, none of them blank
   * @throws TroupeError of the provider: RATE_LIMIT_EXCEEDED and UNAVAILABLE may be repeated;
   *   INVALID_ARGUMENT and PAYLOAD_TOO_LARGE when it refuses a text, and then only; NOT_FOUND when
   *   it has no such model
   */
  embed(texts: readonly string[], as: EmbeddedAs, signal: AbortSignal): Promise<Embedded>;
  /** absent: the provider embeds no texts in batches */
  readonly batches?: EmbeddingBatches;
}

/**
 * Batches: files of texts that the provider embeds within a day, at a lower price. Vectors are
 * those of `embed` as documents. Each call is a few requests, which the caller repeats.
 *
 * @throws TroupeError of each call as `embed`; NOT_FOUND when the provider has no such batch or
 * file
 */
export interface EmbeddingBatches {
  /** texts of one batch */
  readonly textsMax: number;
  /** @param texts by key, at least one */
  file(texts: ReadonlyMap<string, string>): Promise<BatchFile>;
  /**
   * Creates the batch of an uploaded file. Not idempotent: after UNAVAILABLE or DEADLINE_EXCEEDED
   * it may exist.
   * @param ticket by which `find` recognizes it, at most 512 characters
   * @returns its id
   */
  create(file: string, ticket: string, signal: AbortSignal): Promise<string>;
  /**
   * The id of the batch with this ticket; undefined: there is none.
   * @param sinceMs epoch milliseconds: it was not created before
   */
  find(ticket: string, sinceMs: number, signal: AbortSignal): Promise<string | undefined>;
  look(batch: string, signal: AbortSignal): Promise<BatchState>;
  /** What the texts of the batch became, in any order. A broken line is left out. */
  answers(file: string, signal: AbortSignal): AsyncIterable<BatchAnswer>;
  /** Resolves when the provider has accepted it; `look` says when the batch has ended. */
  cancel(batch: string, signal: AbortSignal): Promise<void>;
  /** Removes a file from the provider. No error when it is gone already. */
  remove(file: string, signal: AbortSignal): Promise<void>;
  /** What so many tokens in batches cost. */
  usageOf(inputTokens: number): Usage;
}

/** The texts that fit into one batch. */
export type BatchFile = {
  readonly keys: readonly string[];
  /** Sends it; a repeat makes another file. @returns its id */
  upload(this: void, signal: AbortSignal): Promise<string>;
};

export type BatchState = {
  /** all but `running` are ends; of each there may be answers */
  readonly status: 'running' | 'completed' | 'expired' | 'cancelled' | 'failed';
  /** ids of the files with answers */
  readonly files: readonly string[];
  /** why it failed, for people */
  readonly why?: string;
};

export type BatchAnswer = {
  readonly key: string;
  /** finite and not zero; absent: the text has none */
  readonly vector?: Float32Array;
  readonly inputTokens: number;
};

/** Gemini accepts 100 texts in a request, OpenAI 300,000 tokens. */
export const EMBEDDED_AT_ONCE = 96;
