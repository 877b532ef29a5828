import { inspect } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createModelCatalog, type ModelSettings } from '../../../agent/models/catalog.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import { hearAll, patient, request } from './provider-contract.ts';

const none: ModelSettings = { providers: {} };
const local: ModelSettings = {
  providers: {
    local: {
      api: 'openai-completions',
      baseUrl: 'http://127.0.0.1:9/v1',
      models: [{ id: 'qwen', contextWindow: 32_000 }, { id: 'org/llama' }, { id: 'gpt-5.5' }],
    },
  },
};
const keys = {
  ANTHROPIC_API_KEY: 'sk-ant-key-in-env',
  OPENAI_API_KEY: 'sk-key-in-env',
  GEMINI_API_KEY: 'gem-key-in-env',
};

const refusal = (act: () => unknown): TroupeError => {
  try {
    act();
  } catch (error) {
    if (error instanceof TroupeError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
};

describe('the default model', () => {
  it('is the offline model until a key or a provider is configured', () => {
    expect(createModelCatalog(none, { clock }).defaultModel()).toBe('offline/troupe-offline');
    expect(createModelCatalog(none, { clock, env: keys }).defaultModel()).toBe(
      'anthropic/claude-opus-5-5',
    );
    const { OPENAI_API_KEY } = keys;
    expect(createModelCatalog(none, { clock, env: { OPENAI_API_KEY } }).defaultModel()).toBe(
      'openai/gpt-5.5',
    );
    expect(createModelCatalog(local, { clock, env: keys }).defaultModel()).toBe('local/qwen');
    const { GEMINI_API_KEY } = keys;
    expect(createModelCatalog(none, { clock, env: { GEMINI_API_KEY } }).defaultModel()).toBe(
      'google/gemini-3.8-flash',
    );
    const GOOGLE_API_KEY = GEMINI_API_KEY;
    expect(createModelCatalog(none, { clock, env: { GOOGLE_API_KEY } }).defaultModel()).toBe(
      'google/gemini-3.8-flash',
    );
    const keyless: ModelSettings = { providers: { anthropic: { api: 'anthropic-messages' } } };
    expect(createModelCatalog(keyless, { clock }).defaultModel()).toBe('offline/troupe-offline');
  });
});

describe('resolving a model’s name', () => {
  const catalog = createModelCatalog(local, { clock, env: keys });

  it('accepts provider/model, known or not, with the configured limits', () => {
    expect(catalog.resolve('local/qwen').model).toEqual({
      id: 'qwen',
      contextWindow: 32_000,
      maxTokens: 16_000,
    });
    expect(catalog.resolve('local/org/llama')).toMatchObject({
      name: 'local/org/llama',
      model: { id: 'org/llama' },
    });
    expect(catalog.resolve('openai/gpt-9').model.id).toBe('gpt-9');
    expect(catalog.resolve('openai/gpt-9').provider.id).toBe('openai');
    expect(catalog.resolve('offline/troupe-offline').provider.id).toBe('offline');
  });

  it('accepts a bare name that exactly one provider has', () => {
    expect(catalog.resolve('qwen').name).toBe('local/qwen');
    expect(catalog.resolve('org/llama').name).toBe('local/org/llama');
    expect(catalog.resolve('claude-opus-5-5').name).toBe('anthropic/claude-opus-5-5');
  });

  it('refuses a bare name that two providers have, and names both', () => {
    const error = refusal(() => catalog.resolve('gpt-5.5'));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(error.message).toContain('local/gpt-5.5 or openai/gpt-5.5');
  });

  it('reports the missing key of a known model', async () => {
    const keyless = createModelCatalog(none, { clock });
    for (const name of ['claude-opus-5-5', 'anthropic/claude-opus-5-5']) {
      const { provider, model } = keyless.resolve(name);
      const heard = await hearAll(provider.stream(request({ model: model.id }), patient()));
      expect(heard.error?.code).toBe('UNAUTHORIZED');
      expect(heard.error?.message).toContain('ANTHROPIC_API_KEY');
    }
    expect(keyless.names()).toEqual(['offline/troupe-offline']);
  });

  it('derives the protocol from a known provider name, and requires it otherwise', () => {
    const tuned = { providers: { anthropic: { models: [{ id: 'claude-x', maxTokens: 9 }] } } };
    expect(createModelCatalog(tuned, { clock }).resolve('claude-x').model.maxTokens).toBe(9);
    const unknown = { providers: { acme: { baseUrl: 'http://127.0.0.1:9' } } };
    const error = refusal(() => createModelCatalog(unknown, { clock }));
    expect(error.message).toContain('models.providers.acme.api');
  });

  it.each(['nonsense', 'offline/other', 'unknown/model', 'local/', '/qwen', ''])(
    'refuses "%s" and lists what exists',
    (name) => {
      const error = refusal(() => catalog.resolve(name));
      expect(error.code).toBe('INVALID_ARGUMENT');
      expect(error.message).toContain('local/qwen');
      expect(error.message).toContain('offline/troupe-offline');
    },
  );
});

it('a built-in provider with the API of another one still receives its key at its own address', async () => {
  const hosts: string[] = [];
  // The real hosts cannot be reached from a test.
  const fetch = vi.spyOn(globalThis, 'fetch').mockImplementation((url) => {
    hosts.push(new URL(url instanceof Request ? url.url : url).host);
    return Promise.resolve(new Response('{}', { status: 401 }));
  });
  onTestFinished(() => fetch.mockRestore());
  const google = { api: 'openai-completions', apiKey: 'gem-key' } as const;
  const catalog = createModelCatalog({ providers: { google } }, { clock });
  const { provider, model } = catalog.resolve('google/gemini-3.8-flash');
  await hearAll(provider.stream(request({ model: model.id }), patient()));
  expect(new Set(hosts)).toEqual(new Set(['generativelanguage.googleapis.com']));
});

describe('secrets of the catalog', () => {
  const secret = 'sk-very-secret-9876543210';
  const settings: ModelSettings = {
    providers: {
      a: { api: 'anthropic-messages', baseUrl: 'http://127.0.0.1:9', apiKey: secret },
      b: { api: 'openai-responses', baseUrl: 'http://127.0.0.1:9', headers: { 'x-key': secret } },
      c: {
        api: 'openai-completions',
        baseUrl: 'http://127.0.0.1:9',
        apiKey: { reveal: () => secret },
      },
    },
  };

  it('cannot be read from it or its providers', () => {
    const catalog = createModelCatalog(settings, { clock, env: { ANTHROPIC_API_KEY: secret } });
    for (const one of [catalog, ...catalog.providers]) {
      expect(JSON.stringify(one)).not.toContain(secret);
      expect(String(one as unknown)).not.toContain(secret);
      expect(inspect(one, { depth: 9, showHidden: true })).not.toContain(secret);
    }
    expect(refusal(() => catalog.resolve('x')).message).not.toContain(secret);
  });

  it('are refused immediately, without being shown, when they are invalid in a header', () => {
    for (const [id, entry] of Object.entries(settings.providers)) {
      const broken = {
        ...entry,
        ...(entry.apiKey ? { apiKey: `${secret}\nmore` } : { headers: { 'x-key': `${secret}\n` } }),
      };
      const error = refusal(() => createModelCatalog({ providers: { [id]: broken } }, { clock }));
      expect(error.code).toBe('INVALID_ARGUMENT');
      expect(error.message).toMatch(
        new RegExp(`models\\.providers\\.${id}\\.(apiKey|headers\\.x-key)`),
      );
      expect(inspect(error, { depth: 9 })).not.toContain(secret);
    }
  });

  it('of the environment are never sent to a configured address', async () => {
    const server = await startOpenAiServer();
    try {
      const catalog = createModelCatalog(
        { providers: { openai: { api: 'openai-responses', baseUrl: server.baseUrl } } },
        { clock, env: { OPENAI_API_KEY: secret } },
      );
      const { provider } = catalog.resolve('openai/gpt-5.5');
      const heard = await hearAll(provider.stream(request({ model: 'gpt-5.5' }), patient()));
      expect(heard.error).toBeUndefined();
      expect(JSON.stringify(server.requests[0]?.headers)).not.toContain(secret);
    } finally {
      await server.close();
    }
  });
});

describe('the profiles of a provider', () => {
  const entry = { api: 'openai-completions', baseUrl: 'http://127.0.0.1:9/v1' } as const;
  const profiles = [
    { id: 'work', apiKey: 'key-of-work' },
    { id: 'spare', apiKey: 'key-of-spare' },
  ];
  const idsOf = (settings: ModelSettings) =>
    createModelCatalog(settings, { clock })
      .resolve('p/m')
      .profiles.map(({ id, provider }) => `${provider.id}:${id}`);

  it('are its keys in order, beginning with apiKey', () => {
    expect(idsOf({ providers: { p: entry } })).toEqual(['p:']);
    expect(idsOf({ providers: { p: { ...entry, apiKey: 'a-key', profiles } } })).toEqual([
      'p:default',
      'p:work',
      'p:spare',
    ]);
    expect(idsOf({ providers: { p: { ...entry, profiles } } })).toEqual(['p:work', 'p:spare']);
  });

  it('make a known provider usable, and appear in no error', () => {
    const settings: ModelSettings = { providers: { openai: { profiles } } };
    expect(createModelCatalog(settings, { clock }).defaultModel()).toBe('openai/gpt-5.5');
    expect(inspect(createModelCatalog(settings, { clock }), { depth: 9 })).not.toContain('key-of');
  });
});

it('loads an SDK only with the first call that needs it', async () => {
  const { metafile } = await build({
    entryPoints: ['agent/models/catalog.ts'],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
  });
  const external = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  const sdks = external.filter(({ path }) =>
    ['openai', '@anthropic-ai/sdk', '@google/genai'].includes(path),
  );
  expect(sdks.map(({ path }) => path).sort()).toEqual([
    '@anthropic-ai/sdk',
    '@google/genai',
    'openai',
  ]);
  expect(sdks.every(({ kind }) => kind === 'dynamic-import')).toBe(true);
});
