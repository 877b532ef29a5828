/**
 * The reasoning parameters of each model family. A provider refuses parameters that its model does
 * not support, so unknown families get none. The configured `thinking` of a model's entry applies
 * where this table has no row.
 *
 * Pure. The levels are from the providers' documentation in November 2026.
 */
import type { ModelApi, ModelInfo, ThinkingLevel } from './model.ts';

/** A level other than `off`. */
export type Effort = Exclude<ThinkingLevel, 'off'>;

const order: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh'];

export const THINKING_LEVELS: readonly ThinkingLevel[] = ['off', ...order];

export const isThinkingLevel = (text: string): text is ThinkingLevel =>
  THINKING_LEVELS.some((level) => level === text);

/** The levels that a request for this model may use, `off` first. */
export const thinkingLevelsOf = (
  api: ModelApi | 'plugin',
  model: ModelInfo,
): readonly ThinkingLevel[] => ['off', ...effortsOf(api, model)];

const effortsOf = (api: ModelApi | 'plugin', model: ModelInfo): readonly Effort[] => {
  switch (api) {
    case 'plugin':
      return model.thinking === true ? order : [];
    case 'offline':
      return order;
    case 'anthropic-messages':
      return anthropicEfforts[anthropicThinking(model)];
    case 'google-generative-ai':
      return googleEfforts(model);
    case 'openai-responses':
    case 'openai-completions':
      return openAiEfforts(model);
  }
};

/**
 * The highest supported level that is not above the requested one; otherwise the lowest supported
 * level.
 */
const nearest = <Level extends Effort>(
  taken: readonly Level[],
  wanted: Effort,
): Level | undefined => {
  const place = (level: Effort) => order.indexOf(level);
  return taken.filter((level) => place(level) <= place(wanted)).at(-1) ?? taken[0];
};

// Anthropic

export type AnthropicThinking = 'none' | 'budget' | 'adaptive';

/**
 * The form of thinking of an Anthropic model: none before 3.7, a budget up to 4.5, `adaptive` with
 * an effort since 4.6 (newer models refuse the budget). A name without a version gets none. Ids
 * contain the version after the family (claude-sonnet-4-6) or before it
 * (claude-3-7-sonnet-20250219).
 */
export const anthropicThinking = ({ id, thinking }: ModelInfo): AnthropicThinking => {
  if (thinking === false) return 'none';
  const known = anthropicGeneration(id);
  return known === 'none' && thinking ? 'budget' : known;
};

const anthropicGeneration = (model: string): AnthropicThinking => {
  if (!/claude/i.test(model)) return 'none';
  const found = /(?:^|[^\d])(\d{1,2})(?:[-.](\d{1,2}))?(?=$|[^\d])/.exec(model);
  if (found === null) return 'none';
  const version = Number(found[1]) + Number(found[2] ?? 0) / 100;
  if (version >= 4.06) return 'adaptive';
  return version >= 3.07 ? 'budget' : 'none';
};

/** Tokens of a thinking budget, for older models of Anthropic and Google. */
export const thinkingBudgets: Readonly<Record<Effort, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
};

const threeLevels = ['low', 'medium', 'high'] as const;

const anthropicEfforts: Readonly<Record<AnthropicThinking, readonly Effort[]>> = {
  none: [],
  budget: order,
  adaptive: threeLevels,
};

/** Not every Anthropic model accepts `xhigh`. */
export const anthropicEffort = (level: Effort): 'low' | 'medium' | 'high' =>
  nearest(threeLevels, level) ?? 'low';

// OpenAI

/** The first matching row applies; a gateway may prefix the name with a vendor. */
const openAiFamilies: readonly (readonly [RegExp, readonly Effort[]])[] = [
  [/-chat\b|o1-(mini|preview)|-(audio|image|realtime|search|transcribe|tts)\b/, []],
  [/deep-research/, ['medium']],
  [/(^|\/)o\d/, threeLevels],
  [/(^|\/)codex/, threeLevels],
  [/(^|\/)gpt-5-pro/, ['high']],
  [/(^|\/)gpt-5\.([2-9]|\d\d)-pro/, ['medium', 'high', 'xhigh']],
  [/(^|\/)gpt-5-codex/, threeLevels],
  [/(^|\/)gpt-5(-(mini|nano))?(-\d{4}|$)/, ['minimal', ...threeLevels]],
  [/(^|\/)gpt-5\.1-codex-max/, [...threeLevels, 'xhigh']],
  [/(^|\/)gpt-5\.([2-9]|\d\d)/, [...threeLevels, 'xhigh']],
  [/(^|\/)gpt-([5-9]|\d\d)/, threeLevels],
];

const openAiEfforts = ({ id, thinking }: ModelInfo): readonly Effort[] => {
  if (thinking === false) return [];
  const known = openAiFamilies.find(([family]) => family.test(id))?.[1];
  return known ?? (thinking ? threeLevels : []);
};

/** The effort for an OpenAI model; undefined when the model refuses the parameter. */
export const openAiEffort = (
  model: ModelInfo,
  wanted: ThinkingLevel | undefined,
): Effort | undefined =>
  wanted === undefined || wanted === 'off' ? undefined : nearest(openAiEfforts(model), wanted);

// Google

export type GoogleThinking =
  | { readonly includeThoughts: true; readonly thinkingBudget: number }
  | { readonly includeThoughts: true; readonly thinkingLevel: 'LOW' | 'MEDIUM' | 'HIGH' };

/** The first model of generation 3 has two levels; generation 2.5 has a token budget. */
const googleEfforts = ({ id, thinking }: ModelInfo): readonly Effort[] => {
  if (thinking === false) return [];
  const generation = geminiGeneration(id);
  if (generation >= 3) return /gemini-3-pro/.test(id) ? ['low', 'high'] : threeLevels;
  return generation >= 2.5 || thinking ? order : [];
};

/**
 * Gemini 2.5 accepts a budget, Gemini 3 and later a level (the first of them only two), others
 * nothing. A request with both is refused.
 */
export const googleThinking = (
  model: ModelInfo,
  wanted: ThinkingLevel | undefined,
): GoogleThinking | undefined => {
  if (wanted === undefined || wanted === 'off') return undefined;
  const level = nearest(googleEfforts(model), wanted);
  if (level === undefined) return undefined;
  if (geminiGeneration(model.id) < 3)
    return { includeThoughts: true, thinkingBudget: thinkingBudgets[level] };
  const thinkingLevel = level === 'low' ? 'LOW' : level === 'medium' ? 'MEDIUM' : 'HIGH';
  return { includeThoughts: true, thinkingLevel };
};

/** 2.5 for gemini-2.5-pro; 0 for names that are not a thinking Gemini. */
export const geminiGeneration = (model: string): number => {
  if (/-(image|tts|live|audio|embedding)\b/.test(model)) return 0;
  return Number(/gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 0);
};
