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

/** Providers as a model's name is judged against them. */
export type ListedModels = Readonly<
  Record<string, { readonly models: readonly { readonly id: string }[] }>
>;

/**
 * Why a model's name can mean nothing, undefined when it can. A bare name without a slash passes:
 * which models the known providers have is the catalog's to say.
 */
export function modelNameProblem(name: string, providers: ListedModels): string | undefined {
  const slash = name.indexOf('/');
  if (slash < 0) return undefined;
  const provider = name.slice(0, slash);
  const ids = [
    ...new Set([...Object.keys(providers), ...Object.keys(knownProviders)]),
    offlineProvider,
  ];
  if (ids.includes(provider)) {
    return slash === name.length - 1 ? 'the model is missing after the slash' : undefined;
  }
  const listed = Object.values(providers).some(({ models }) =>
    models.some(({ id }) => id === name),
  );
  return listed ? undefined : `there is no provider ${provider}; there are ${ids.join(', ')}`;
}
