/**
 * Values that follow from the environment or from other values: the built-in providers and the model
 * that agents run on. They are laid under what a person wrote, never over it.
 */
import { valueAt } from './pointer.ts';
import { builtInProviders, offlineModel } from './providers.ts';

/** Where the loader keeps what is written and what is added. */
type Sheet = {
  readonly raw: Record<string, unknown>;
  set(pointer: string, value: unknown, source: string): void;
};

/** Anthropic and OpenAI are always there; their keys come from the usual variables when not written down. */
export function addProviders(
  sheet: Sheet,
  env: Readonly<Record<string, string | undefined>>,
): void {
  for (const [id, provider] of Object.entries(builtInProviders)) {
    const base = `/models/providers/${id}`;
    const add = (key: string, value: string | undefined, source: string) => {
      if (valueAt(sheet.raw, `${base}/${key}`) === undefined)
        sheet.set(`${base}/${key}`, value, source);
    };
    add(
      'baseUrl',
      env[provider.baseUrlVariable],
      `environment variable ${provider.baseUrlVariable}`,
    );
    add('baseUrl', provider.baseUrl, 'built in');
    add('api', provider.api, 'built in');
    add('apiKey', env[provider.keyVariable], `environment variable ${provider.keyVariable}`);
  }
}

/** The first own provider that lists a model, else the first built-in one with a key, else offline. */
export function chooseModel(sheet: Sheet): void {
  const pointer = '/agents/defaults/model';
  if (valueAt(sheet.raw, pointer) !== undefined) return;
  const providers = Object.entries(valueAt(sheet.raw, '/models/providers') ?? {});
  for (const [id, provider] of providers) {
    const listed = valueAt(provider, '/models/0/id');
    const usable = !(id in builtInProviders) || valueAt(provider, '/apiKey') !== undefined;
    if (usable && typeof listed === 'string') {
      return sheet.set(pointer, `${id}/${listed}`, `first model of models.providers.${id}`);
    }
  }
  for (const [id, { model }] of Object.entries(builtInProviders)) {
    if (valueAt(sheet.raw, `/models/providers/${id}/apiKey`) !== undefined) {
      return sheet.set(pointer, `${id}/${model}`, `models.providers.${id} has a key`);
    }
  }
  sheet.set(pointer, offlineModel, 'built in: no provider has a key');
}
