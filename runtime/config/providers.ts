/**
 * What the configuration itself must know about model providers: which names need no address, and
 * which name is taken. Models, defaults and keys of the environment are the model catalog's.
 */

/** The provider that comes with troupe: needs no key, no network, no configuration. */
export const offlineProvider = 'offline';

/** `keyVariable`: the variable of the environment that its key is taken from by itself. */
type KnownProvider = { readonly api: string; readonly keyVariable: string };

/** Providers whose API and address are known by their name. */
export const knownProviders: Readonly<Record<string, KnownProvider>> = {
  anthropic: { api: 'anthropic-messages', keyVariable: 'ANTHROPIC_API_KEY' },
  openai: { api: 'openai-responses', keyVariable: 'OPENAI_API_KEY' },
  google: { api: 'google-generative-ai', keyVariable: 'GEMINI_API_KEY' },
};

export const isKnownProvider = (id: string): boolean => Object.hasOwn(knownProviders, id);
