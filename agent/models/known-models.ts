/**
 * Models that need no configuration, for selection lists, bare names and costs. Any other model
 * works as `provider/model`. The limits are values that the model supports, not always its maximum;
 * `models.providers.<id>.models` overrides them.
 *
 * Prices are list prices in US dollars per million tokens, published on 2026-11-21, for the
 * standard tier without batch discounts. They change, and the configured `price` overrides them.
 * Anthropic's `cacheWrite` is the price of the five-minute cache, which we use.
 */
import { defined } from '../../protocols/defined.ts';
import type { BuiltInProviderId } from '../../protocols/models/model-providers.ts';
import type { ModelInfo, ModelPrice } from './model.ts';

const info = (
  contextWindow: number,
  maxTokens: number,
  prices: Readonly<Record<string, ModelPrice | undefined>>,
): ModelInfo[] =>
  Object.entries(prices).map(([id, price]) => ({
    id,
    contextWindow,
    maxTokens,
    ...defined({ price }),
  }));

const opus: ModelPrice = { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 };

const anthropicModels: readonly ModelInfo[] = info(200_000, 32_000, {
  'claude-opus-5-5': { input: 4, output: 20, cachedInput: 0.2, cacheWrite: 5 },
  'claude-sonnet-5-5': { input: 2, output: 10, cachedInput: 0.1, cacheWrite: 2.5 },
  'claude-haiku-5-5': {
    input: 0.1,
    output: 0.5,
    cachedInput: 0.01,
    cacheWrite: 0.125,
    above: {
      inputTokens: 100_000,
      input: 0.5,
      output: 2.5,
      cachedInput: 0.05,
      cacheWrite: 0.625,
    },
  },
  'claude-opus-5': opus,
  'claude-sonnet-5': { input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5 },
  'claude-opus-4-8': opus,
  'claude-opus-4-6': opus,
  'claude-sonnet-4-6': { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
  'claude-haiku-4-5': { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25 },
});

/**
 * Above 272,000 input tokens, OpenAI's large models cost twice the input price and 1.5 times the
 * output price.
 */
const withLongInput = (price: ModelPrice): ModelPrice => ({
  ...price,
  above: {
    inputTokens: 272_000,
    input: price.input * 2,
    output: price.output * 1.5,
    cachedInput: (price.cachedInput ?? price.input) * 2,
  },
});

const gpt5: ModelPrice = { input: 1.25, output: 10, cachedInput: 0.125 };

const openAiModels: readonly ModelInfo[] = [
  ...info(400_000, 128_000, {
    'gpt-5.5': withLongInput({ input: 5, output: 30, cachedInput: 0.5 }),
    'gpt-5.4': withLongInput({ input: 2.5, output: 15, cachedInput: 0.25 }),
    'gpt-5.4-mini': { input: 0.75, output: 4.5, cachedInput: 0.075 },
    'gpt-5.4-nano': { input: 0.2, output: 1.25, cachedInput: 0.02 },
    'gpt-5.2': { input: 1.75, output: 14, cachedInput: 0.175 },
    'gpt-5.1': gpt5,
    'gpt-5': gpt5,
    'gpt-5-mini': { input: 0.25, output: 2, cachedInput: 0.025 },
    'gpt-5-nano': { input: 0.05, output: 0.4, cachedInput: 0.005 },
  }),
  ...info(1_000_000, 32_000, {
    'gpt-4.1': { input: 2, output: 8, cachedInput: 0.5 },
    'gpt-4.1-mini': { input: 0.4, output: 1.6, cachedInput: 0.1 },
  }),
  ...info(128_000, 16_000, {
    'gpt-4o': { input: 2.5, output: 10, cachedInput: 1.25 },
    'gpt-4o-mini': { input: 0.15, output: 0.6, cachedInput: 0.075 },
  }),
  ...info(200_000, 100_000, {
    o3: { input: 2, output: 8, cachedInput: 0.5 },
    'o4-mini': { input: 1.1, output: 4.4, cachedInput: 0.275 },
  }),
];

const googleModels: readonly ModelInfo[] = info(1_000_000, 64_000, {
  // the list price is discounted by half until the end of 2026; the lower price would exceed
  // budgets afterwards
  'gemini-3.8-flash': { input: 1.5, output: 7.5, cachedInput: 0.15 },
  'gemini-3.1-pro-preview': {
    input: 2,
    output: 12,
    cachedInput: 0.2,
    above: { inputTokens: 200_000, input: 4, output: 18, cachedInput: 0.4 },
  },
  'gemini-3.1-flash-lite': { input: 0.25, output: 1.5, cachedInput: 0.025 },
  'gemini-2.5-pro': {
    input: 1.25,
    output: 10,
    cachedInput: 0.125,
    above: { inputTokens: 200_000, input: 2.5, output: 15, cachedInput: 0.25 },
  },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, cachedInput: 0.03 },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, cachedInput: 0.01 },
});

/** Defaults for a model without a description. */
export const unknownModel = { contextWindow: 128_000, maxTokens: 16_000 } as const;

export const KNOWN_MODELS: Readonly<Record<BuiltInProviderId, readonly ModelInfo[]>> = {
  anthropic: anthropicModels,
  openai: openAiModels,
  google: googleModels,
};

/** US dollars per million tokens of input. */
export const EMBEDDING_PRICES: Readonly<Record<string, number>> = {
  'text-embedding-3-small': 0.02,
  'text-embedding-3-large': 0.13,
  'text-embedding-ada-002': 0.1,
  'gemini-embedding-001': 0.15,
};
