/**
 * Models that are known by name without configuration. Only a help for choosing and for bare names:
 * a model that is missing here works as `provider/model`. The numbers are bounds that the model
 * keeps, not always its greatest; `models.providers.<id>.models` overrides them.
 */
import type { ModelInfo } from './model.ts';

const info = (contextWindow: number, maxTokens: number, ...ids: string[]): ModelInfo[] =>
  ids.map((id) => ({ id, contextWindow, maxTokens }));

export const anthropicModels: readonly ModelInfo[] = info(
  200_000,
  32_000,
  'claude-opus-5-5',
  'claude-sonnet-5-5',
  'claude-haiku-5-5',
  'claude-opus-5',
  'claude-sonnet-5',
  'claude-opus-4-8',
  'claude-opus-4-6',
  'claude-sonnet-4-6',
  'claude-haiku-4-5',
);

export const openAiModels: readonly ModelInfo[] = [
  ...info(400_000, 128_000, 'gpt-5.5', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.2'),
  ...info(400_000, 128_000, 'gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano'),
  ...info(1_000_000, 32_000, 'gpt-4.1', 'gpt-4.1-mini'),
  ...info(128_000, 16_000, 'gpt-4o', 'gpt-4o-mini'),
  ...info(200_000, 100_000, 'o3', 'o4-mini'),
];

/** What is assumed of a model that nobody described. */
export const unknownModel = { contextWindow: 128_000, maxTokens: 16_000 } as const;
