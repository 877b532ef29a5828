/**
 * Providers that are known without configuration, and which model an agent runs on when none is named.
 */

/** The model that comes with troupe: deterministic, needs no key and no network. */
export const offlineProvider = 'offline';
export const offlineModel = `${offlineProvider}/troupe`;

type BuiltIn = {
  readonly baseUrl: string;
  readonly api: string;
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  /** model of an agent when this provider has a key and nothing else is said */
  readonly model: string;
  /** bare model names that are this provider's */
  readonly family: RegExp;
};

export const builtInProviders: Readonly<Record<string, BuiltIn>> = {
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    api: 'anthropic-messages',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    model: 'claude-opus-4-5',
    family: /^claude-/,
  },
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    api: 'openai-responses',
    keyVariable: 'OPENAI_API_KEY',
    baseUrlVariable: 'OPENAI_BASE_URL',
    model: 'gpt-5.2',
    family: /^(gpt-|o\d)/,
  },
};

/** Providers as a model name is resolved against them. */
export type ProviderModels = Readonly<
  Record<string, { readonly models: readonly { readonly id: string }[] } | undefined>
>;

export type ResolvedModel = { readonly provider: string; readonly model: string };

/**
 * `provider/model`, or a bare name that exactly one provider has (AL10). A provider's model may hold
 * slashes itself.
 */
export function resolveModel(
  name: string,
  providers: ProviderModels,
): ResolvedModel | { readonly failure: string } {
  const ids = [...Object.keys(providers), offlineProvider];
  const slash = name.indexOf('/');
  const named = slash > 0 ? name.slice(0, slash) : undefined;
  if (named !== undefined && ids.includes(named)) {
    const model = name.slice(slash + 1);
    return model === ''
      ? { failure: 'the model is missing after the slash' }
      : { provider: named, model };
  }
  const owners = ids.filter((id) => has(id, name, providers));
  const [owner] = owners;
  if (owner !== undefined && owners.length === 1) return { provider: owner, model: name };
  if (owners.length > 1) return { failure: `several providers have it: ${owners.join(', ')}` };
  const unknown =
    named === undefined ? 'no provider has this model' : `there is no provider ${named}`;
  return { failure: `${unknown}; providers: ${ids.join(', ')}` };
}

function has(provider: string, model: string, providers: ProviderModels): boolean {
  const listed = providers[provider]?.models.some(({ id }) => id === model) ?? false;
  return listed || (builtInProviders[provider]?.family.test(model) ?? false);
}
