/**
 * The model providers that need no address and no API name in the configuration. The configuration,
 * the model catalog, `troupe doctor` and the reference page read this table. Their models are in
 * agent/models/known-models.ts.
 */

/** The protocols that a configured provider can speak. */
export const MODEL_APIS = [
  'openai-completions',
  'openai-responses',
  'anthropic-messages',
  'google-generative-ai',
] as const;

type BuiltInProvider = {
  readonly api: (typeof MODEL_APIS)[number];
  /** base URL of the provider's own service, without a trailing slash */
  readonly url: string;
  /** environment variables with its key; the first one that is set counts */
  readonly keyVariables: readonly [string, ...string[]];
};

export const BUILT_IN_PROVIDERS = {
  anthropic: {
    api: 'anthropic-messages',
    url: 'https://api.anthropic.com',
    keyVariables: ['ANTHROPIC_API_KEY'],
  },
  openai: {
    api: 'openai-responses',
    url: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
  },
  google: {
    api: 'google-generative-ai',
    url: 'https://generativelanguage.googleapis.com',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
} as const satisfies Record<string, BuiltInProvider>;

export type BuiltInProviderId = keyof typeof BUILT_IN_PROVIDERS;

/** In the order in which their models become the default. */
export const BUILT_IN_PROVIDER_IDS = Object.keys(BUILT_IN_PROVIDERS) as BuiltInProviderId[];

export const isBuiltInProvider = (id: string): id is BuiltInProviderId =>
  Object.hasOwn(BUILT_IN_PROVIDERS, id);

/** The provider that is part of troupe. It needs no key, no network and no configuration. */
export const OFFLINE_PROVIDER = 'offline';
