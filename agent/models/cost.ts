/** The cost of a model call; the only place that computes it. Pure. */
import type { ModelPrice, ModelUsage } from './model.ts';

const perMillion = 1_000_000;

/**
 * US dollars of one call; undefined without a price. Cached tokens are part of the input and have
 * their own price.
 */
export const costOf = (usage: ModelUsage, price: ModelPrice | undefined): number | undefined => {
  if (price === undefined) return undefined;
  const { above } = price;
  const rates = above && usage.inputTokens > above.inputTokens ? above : price;
  const read = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - read);
  const fresh = usage.inputTokens - read - written;
  const dollars =
    fresh * rates.input +
    read * (rates.cachedInput ?? rates.input) +
    written * (rates.cacheWrite ?? rates.input) +
    usage.outputTokens * rates.output;
  return dollars / perMillion;
};
