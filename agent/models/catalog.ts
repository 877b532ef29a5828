/**
 * The catalog: which model providers there are, and which of them a model's name means.
 *
 * Boundary: made once from the `models` section of the configuration and the environment (as a
 * record; nothing here reads `process.env`). Opens no connection and loads no SDK.
 * Invariant: no key and no header value can be read from a catalog or its providers.
 */
import { TroupeError } from '../../protocols/errors.ts';
import {
  BUILT_IN_PROVIDER_IDS,
  BUILT_IN_PROVIDERS,
  type BuiltInProviderId,
  isBuiltInProvider,
  OFFLINE_PROVIDER,
} from '../../protocols/model-providers.ts';
import { createAnthropicProvider } from './anthropic.ts';
import type { Connection, SecretText } from './connection.ts';
import { CoolDowns } from './cool-down.ts';
import { createGoogleProvider } from './google.ts';
import { anthropicModels, googleModels, openAiModels, unknownModel } from './known-models.ts';
import type { ModelApi, ModelInfo, ModelProvider, ThinkingLevel } from './model.ts';
import { createOfflineProvider, offlineModel } from './offline/offline.ts';
import { createOpenAiCompletionsProvider } from './openai-completions.ts';
import { createOpenAiResponsesProvider } from './openai-responses.ts';
import type { CallClock } from './stream.ts';
import { THINKING_LEVELS, thinkingLevelsOf } from './thinking.ts';

/** One entry of `models.providers`. */
export type ProviderSettings = {
  /** mandatory, except where the provider's name tells it: anthropic, openai, google, offline */
  readonly api?: ModelApi;
  /** default: the API's own address; an own address never gets a key from the environment */
  readonly baseUrl?: string;
  readonly apiKey?: SecretText;
  /** more keys, asked in order when the one before cannot (failover.ts); `apiKey` is the first */
  readonly profiles?: readonly { readonly id: string; readonly apiKey: SecretText }[];
  readonly headers?: Readonly<Record<string, SecretText>>;
  /** Chat Completions only; see Connection.streamOptions */
  readonly streamOptions?: boolean;
  /** more models, or other bounds of known ones */
  readonly models?: readonly (Pick<ModelInfo, 'id'> & Partial<ModelInfo>)[];
};

export type ModelSettings = { readonly providers: Readonly<Record<string, ProviderSettings>> };

export type CatalogOptions = {
  /** read for ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY; default empty */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock: CallClock;
  /** pace of the offline model; default 200, 0 as fast as possible */
  readonly offlineTokensPerSecond?: number;
};

export type ResolvedModel = {
  /** `provider/model`, to be kept where the choice is recorded */
  readonly name: string;
  /** with its first key */
  readonly provider: ModelProvider;
  readonly model: ModelInfo;
  /** the provider with each of its keys, in order; at least one */
  readonly profiles: readonly Profile[];
  /** that a request for it may name, `off` first; the model may know fewer than there are */
  readonly thinkingLevels: readonly ThinkingLevel[];
};

/** A provider with one of its keys. `id` is '' for the key that stands beside no others. */
export type Profile = { readonly id: string; readonly provider: ModelProvider };

export type ModelCatalog = {
  /** Anthropic, OpenAI and Google are always there; without a key their calls say which to set. */
  readonly providers: readonly ModelProvider[];
  /** Known models of the providers that can be used now, as `provider/model`. */
  names(): readonly string[];
  /**
   * `provider/model`, known or not, or the bare name of a model that exactly one provider knows.
   * @throws TroupeError INVALID_ARGUMENT that names what exists
   */
  resolve(name: string): ResolvedModel;
  /** Of `resolve`; all levels where nothing is known by the name. Does not throw. */
  thinkingLevels(name: string): readonly ThinkingLevel[];
  /**
   * The first own provider's first model, else Anthropic's when there is a key, else OpenAI's, else
   * Google's, else the offline model.
   */
  defaultModel(): string;
  /** what failed lately on this worker */
  readonly coolDowns: CoolDowns;
};

const builtInModels: Readonly<Record<BuiltInProviderId, readonly ModelInfo[]>> = {
  anthropic: anthropicModels,
  openai: openAiModels,
  google: googleModels,
};

/** @throws TroupeError INVALID_ARGUMENT for a key or header that no HTTP header may carry */
export const createModelCatalog = (
  settings: ModelSettings,
  options: CatalogOptions,
): ModelCatalog => {
  const providers = new Map<string, Entry>();
  const keyed = new Set<string>();
  const add = (id: string, entry: ProviderSettings) => {
    const apiKey = entry.apiKey ?? keyFromEnvironment(id, entry, options.env ?? {});
    if (apiKey !== undefined || entry.profiles?.length) keyed.add(id);
    const api = apiOf(id, entry);
    providers.set(id, { api, profiles: profilesOf(id, { ...entry, api, apiKey }, options) });
  };
  const entries = Object.entries(settings.providers);
  for (const [id, entry] of entries) add(id, entry);
  for (const id of [...BUILT_IN_PROVIDER_IDS, OFFLINE_PROVIDER])
    if (!providers.has(id)) add(id, {});
  const own = entries
    .map(([id]) => id)
    .filter((id) => !isBuiltInProvider(id) && id !== OFFLINE_PROVIDER);
  const preferred = [...own, ...BUILT_IN_PROVIDER_IDS.filter((id) => keyed.has(id))];
  return catalogOf(providers, preferred, new CoolDowns(() => options.clock.monotonicMs()));
};

type Entry = { readonly api: ModelApi; readonly profiles: readonly Profile[] };

/** What `apiKey` is called where profiles stand beside it. */
const firstProfileId = 'default';

type WithApi = ProviderSettings & { readonly api: ModelApi };

/** The provider once per key: `apiKey` first, then the profiles as they are written. */
const profilesOf = (id: string, entry: WithApi, options: CatalogOptions): Profile[] => {
  const { profiles = [], apiKey } = entry;
  if (profiles.length === 0) return [{ id: '', provider: createProvider(id, entry, options) }];
  const first = apiKey === undefined ? [] : [{ id: firstProfileId, apiKey }];
  return [...first, ...profiles].map((profile) => ({
    id: profile.id,
    provider: createProvider(id, { ...entry, apiKey: profile.apiKey }, options, profile.id),
  }));
};

/** A key of the environment is meant for the provider's own address and goes nowhere else. */
const keyFromEnvironment = (
  id: string,
  entry: ProviderSettings,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  if (!isBuiltInProvider(id)) return undefined;
  const official =
    (entry.baseUrl ?? BUILT_IN_PROVIDERS[id].url).replace(/\/+$/, '') ===
    BUILT_IN_PROVIDERS[id].url;
  if (!official) return undefined;
  return BUILT_IN_PROVIDERS[id].keyVariables.map((name) => env[name]).find((key) => key);
};

const createProvider = (
  id: string,
  entry: WithApi,
  { clock, offlineTokensPerSecond }: CatalogOptions,
  profile?: string,
): ModelProvider => {
  const { api } = entry;
  if (api === 'offline') {
    return createOfflineProvider({ id, clock, tokensPerSecond: offlineTokensPerSecond });
  }
  const { baseUrl, apiKey, headers, streamOptions } = entry;
  const models = modelsOf(id, entry);
  const connection: Connection = {
    id,
    profile,
    baseUrl,
    apiKey,
    headers,
    streamOptions,
    models,
    clock,
  };
  switch (api) {
    case 'anthropic-messages':
      return createAnthropicProvider(connection);
    case 'openai-responses':
      return createOpenAiResponsesProvider(connection);
    case 'openai-completions':
      return createOpenAiCompletionsProvider(connection);
    case 'google-generative-ai':
      return createGoogleProvider(connection);
  }
};

const apiOf = (id: string, { api }: ProviderSettings): ModelApi => {
  const known =
    api ??
    (isBuiltInProvider(id)
      ? BUILT_IN_PROVIDERS[id].api
      : id === OFFLINE_PROVIDER
        ? 'offline'
        : undefined);
  if (known) return known;
  const path = `models.providers.${id}.api`;
  throw new TroupeError('INVALID_ARGUMENT', `${path} is missing: say which protocol it speaks`, {
    details: { path },
  });
};

const modelsOf = (id: string, entry: ProviderSettings): ModelInfo[] => {
  const known = isBuiltInProvider(id) ? builtInModels[id] : [];
  const named = (entry.models ?? []).map((model) => ({
    ...(known.find((other) => other.id === model.id) ?? unknownModel),
    ...model,
  }));
  return [...named, ...known.filter((one) => !named.some((model) => model.id === one.id))];
};

const catalogOf = (
  byId: ReadonlyMap<string, Entry>,
  preferred: readonly string[],
  coolDowns: CoolDowns,
): ModelCatalog => {
  const providers = [...byId.values()].flatMap(({ profiles }) =>
    profiles.slice(0, 1).map(({ provider }) => provider),
  );
  const usable = providers.filter(({ id }) => preferred.includes(id) || id === OFFLINE_PROVIDER);
  const names = () =>
    usable.flatMap(({ id, models }) => models.map((model) => `${id}/${model.id}`));
  const found = (name: string) => named(providers, name) ?? bare(name, usable, providers, names());
  const resolve = (name: string): ResolvedModel => {
    const choice = found(name);
    const { api, profiles } = byId.get(choice.provider.id)!;
    return { ...choice, profiles, thinkingLevels: thinkingLevelsOf(api, choice.model) };
  };
  return {
    providers,
    coolDowns,
    names,
    resolve,
    thinkingLevels(name) {
      try {
        return resolve(name).thinkingLevels;
      } catch (error) {
        if (error instanceof TroupeError && error.code === 'INVALID_ARGUMENT')
          return THINKING_LEVELS;
        throw error;
      }
    },
    defaultModel() {
      const first = preferred
        .map((id) => providers.find((one) => one.id === id))
        .find((one) => one?.models.length);
      return first
        ? `${first.id}/${first.models[0]?.id}`
        : `${OFFLINE_PROVIDER}/${offlineModel.id}`;
    },
  };
};

type Choice = Omit<ResolvedModel, 'profiles' | 'thinkingLevels'>;

/** `provider/model`; the model's own name may hold slashes as well. */
const named = (providers: readonly ModelProvider[], name: string): Choice | undefined => {
  const slash = name.indexOf('/');
  const provider = slash > 0 ? providers.find((one) => one.id === name.slice(0, slash)) : undefined;
  const id = name.slice(slash + 1);
  if (provider === undefined || id === '') return undefined;
  const known = provider.models.find((model) => model.id === id);
  // the offline model is no service that may have got new models since
  if (!known && provider.models.includes(offlineModel)) return undefined;
  return { name, provider, model: known ?? { id, ...unknownModel } };
};

const bare = (
  name: string,
  usable: readonly ModelProvider[],
  providers: readonly ModelProvider[],
  names: readonly string[],
): Choice => {
  const among = (some: readonly ModelProvider[]): Choice[] =>
    some.flatMap((provider) =>
      provider.models
        .filter((model) => model.id === name)
        .map((model) => ({ name: `${provider.id}/${model.id}`, provider, model })),
    );
  const ready = among(usable);
  // a model that only lacks a key is better told so than that it does not exist
  const found = ready.length > 0 ? ready : among(providers);
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  const why =
    found.length > 1
      ? `More than one provider has the model ${name}: write ${found.map((one) => one.name).join(' or ')}`
      : `There is no model ${name}. Known: ${names.join(', ')}; other models of these providers as ` +
        `provider/model (${providers.map(({ id }) => id).join(', ')})`;
  throw new TroupeError('INVALID_ARGUMENT', why, { details: { model: name } });
};
