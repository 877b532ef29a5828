/**
 * The catalog: the configured model providers, and the resolution of model names.
 *
 * Boundary: created once from the `models` section of the configuration and the environment (as a
 * record; this file does not read `process.env`). It opens no connection and loads no SDK.
 * Invariant: keys and header values cannot be read from a catalog or its providers.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { LruMap } from '../../runtime/index.ts';
import {
  BUILT_IN_PROVIDER_IDS,
  BUILT_IN_PROVIDERS,
  isBuiltInProvider,
  OFFLINE_PROVIDER,
} from '../../protocols/models/model-providers.ts';
import { createAnthropicProvider } from './anthropic.ts';
import type { Connection, SecretText } from './connection.ts';
import { CoolDowns } from './cool-down.ts';
import { createGoogleProvider } from './google.ts';
import { KNOWN_MODELS, unknownModel } from './known-models.ts';
import type { ModelApi, ModelInfo, ModelProvider, ThinkingLevel } from './model.ts';
import { createOfflineProvider, offlineModel } from './offline/offline.ts';
import { createOpenAiCompletionsProvider } from './openai-completions.ts';
import { createOpenAiResponsesProvider } from './openai-responses.ts';
import type { CallClock } from './stream.ts';
import { THINKING_LEVELS, thinkingLevelsOf } from './thinking.ts';

/** One entry of `models.providers`. */
export type ProviderSettings = {
  /** required unless the provider's name implies it: anthropic, openai, google, offline */
  readonly api?: ModelApi;
  /**
   * default: the API's own address; with any other address, keys of the environment are not used
   */
  readonly baseUrl?: string;
  readonly apiKey?: SecretText;
  /** more keys, used in order when the previous one fails (failover.ts); `apiKey` is the first */
  readonly profiles?: readonly { readonly id: string; readonly apiKey: SecretText }[];
  readonly headers?: Readonly<Record<string, SecretText>>;
  /** Chat Completions only; see Connection.streamOptions */
  readonly streamOptions?: boolean;
  /** additional models, or other limits for known ones */
  readonly models?: readonly (Pick<ModelInfo, 'id'> & Partial<ModelInfo>)[];
};

export type ModelSettings = { readonly providers: Readonly<Record<string, ProviderSettings>> };

export type CatalogOptions = {
  /** read for ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY; default empty */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock: CallClock;
  /** tokens per second of the offline model; default 200, 0 as fast as possible */
  readonly offlineTokensPerSecond?: number;
  /** providers of plugins; their ids are neither built-in nor in the settings */
  readonly plugins?: readonly ModelProvider[];
};

export type ResolvedModel = {
  /** `provider/model`, for records of the choice */
  readonly name: string;
  /** with its first key */
  readonly provider: ModelProvider;
  readonly model: ModelInfo;
  /** the provider once per key, in order; at least one */
  readonly profiles: readonly Profile[];
  /** levels that a request may use, `off` first; the model may support fewer */
  readonly thinkingLevels: readonly ThinkingLevel[];
};

/** A provider with one of its keys. `id` is '' for a single key. */
export type Profile = { readonly id: string; readonly provider: ModelProvider };

export type ModelCatalog = {
  /**
   * Anthropic, OpenAI and Google are always included; without a key, a call fails and names the
   * missing setting.
   */
  readonly providers: readonly ModelProvider[];
  /** Known models of the usable providers, as `provider/model`. */
  names(): readonly string[];
  /**
   * Resolves `provider/model`, known or not, or the bare name of a model of exactly one provider.
   * @throws TroupeError INVALID_ARGUMENT that lists the existing names
   */
  resolve(name: string): ResolvedModel;
  /** The levels of the resolved model; all levels for an unknown name. Does not throw. */
  thinkingLevels(name: string): readonly ThinkingLevel[];
  /**
   * The first model of the first configured provider. Otherwise Anthropic's when it has a key, then
   * OpenAI's, then Google's, then that of the first plugin with a provider, then the offline model.
   */
  defaultModel(): string;
  /** recent failures on this worker */
  readonly coolDowns: CoolDowns;
};

/** @throws TroupeError INVALID_ARGUMENT for a key or header value that is invalid in HTTP */
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
  const { plugins = [] } = options;
  for (const provider of plugins)
    providers.set(provider.id, { api: 'plugin', profiles: [{ id: '', provider }] });
  const preferred = [
    ...own,
    ...BUILT_IN_PROVIDER_IDS.filter((id) => keyed.has(id)),
    ...plugins.map(({ id }) => id),
  ];
  return catalogOf(providers, preferred, new CoolDowns(() => options.clock.monotonicMs()));
};

type Entry = { readonly api: ModelApi | 'plugin'; readonly profiles: readonly Profile[] };

/** The profile id of `apiKey` when profiles are configured as well. */
const firstProfileId = 'default';

type WithApi = ProviderSettings & { readonly api: ModelApi };

/** The provider once per key: `apiKey` first, then the profiles in their order. */
const profilesOf = (id: string, entry: WithApi, options: CatalogOptions): Profile[] => {
  const { profiles = [], apiKey } = entry;
  if (profiles.length === 0) return [{ id: '', provider: createProvider(id, entry, options) }];
  const first = apiKey === undefined ? [] : [{ id: firstProfileId, apiKey }];
  return [...first, ...profiles].map((profile) => ({
    id: profile.id,
    provider: createProvider(id, { ...entry, apiKey: profile.apiKey }, options, profile.id),
  }));
};

/** A key of the environment is sent only to the provider's own address. */
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
  const { apiKey, headers, streamOptions } = entry;
  // Otherwise the key of a compatible provider would be sent to the vendor of the API.
  const baseUrl = entry.baseUrl ?? (isBuiltInProvider(id) ? BUILT_IN_PROVIDERS[id].url : undefined);
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
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} is missing: set the protocol of the provider`,
    {
      details: { path },
    },
  );
};

const modelsOf = (id: string, entry: ProviderSettings): ModelInfo[] => {
  const known = isBuiltInProvider(id) ? KNOWN_MODELS[id] : [];
  const named = (entry.models ?? []).map((model) => ({
    ...(known.find((other) => other.id === model.id) ?? unknownModel),
    ...model,
  }));
  return [...named, ...known.filter((one) => !named.some((model) => model.id === one.id))];
};

/** Names that are kept resolved; users may send any name. */
const RESOLVED_MAX = 256;

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
  const resolved = new LruMap<string, ResolvedModel>(RESOLVED_MAX);
  const resolve = (name: string): ResolvedModel => {
    const known = resolved.get(name);
    if (known) return known;
    const choice = found(name);
    const { api, profiles } = byId.get(choice.provider.id)!;
    const one = { ...choice, profiles, thinkingLevels: thinkingLevelsOf(api, choice.model) };
    resolved.set(name, one);
    return one;
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

/** `provider/model`; the model's own name may contain slashes. */
const named = (providers: readonly ModelProvider[], name: string): Choice | undefined => {
  const slash = name.indexOf('/');
  const provider = slash > 0 ? providers.find((one) => one.id === name.slice(0, slash)) : undefined;
  const id = name.slice(slash + 1);
  if (provider === undefined || id === '') return undefined;
  const known = provider.models.find((model) => model.id === id);
  // the offline model has a fixed list of models, unlike a remote service
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
  // for a known model that only lacks a key, report the missing key
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
