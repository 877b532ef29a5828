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
}

/** Gemini accepts 100 texts in a request, OpenAI 300,000 tokens. */
export const EMBEDDED_AT_ONCE = 96;
