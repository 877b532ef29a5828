/** Section `models`: providers, their keys, and what is known of their models. */
import { Type } from '@sinclair/typebox';
import { MODEL_APIS } from '../../protocols/model-providers.ts';
import { oneOf, record, secret, section } from './fields.ts';

const dollars = (description: string) =>
  Type.Number({ minimum: 0, description: `US dollars per million ${description}` });

const tokenPrices = {
  input: dollars('tokens of input'),
  output: dollars('tokens of output, reasoning included'),
  cachedInput: Type.Optional(
    dollars('tokens that were read from the provider’s cache. Left out: as `input`'),
  ),
  cacheWrite: Type.Optional(
    dollars('tokens that were put into the provider’s cache. Left out: as `input`'),
  ),
};

const price = record('what it costs; left out: the list price where it is known, else uncounted', {
  ...tokenPrices,
  above: Type.Optional(
    record('what holds for the whole call when its input is longer', {
      inputTokens: Type.Integer({
        minimum: 1,
        description: 'prompts longer than this number of tokens',
      }),
      ...tokenPrices,
    }),
  ),
});

const model = record('one model', {
  id: Type.String({ minLength: 1, description: 'name that the provider gives it' }),
  contextWindow: Type.Optional(
    Type.Integer({ minimum: 1, description: 'tokens that fit in one request' }),
  ),
  maxTokens: Type.Optional(Type.Integer({ minimum: 1, description: 'most tokens of one answer' })),
  price: Type.Optional(price),
  images: Type.Optional(
    Type.Boolean({
      description: 'whether it takes images; one that does not reads a line instead. Left out: yes',
    }),
  ),
  thinking: Type.Optional(
    Type.Boolean({
      description:
        'whether it takes its API’s parameters for reasoning. Left out: what is known of its ' +
        'family, and no for a model that is not known',
    }),
  ),
});

const profile = record('one more key of the provider', {
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
    'x-allowed': 'small letters, digits, _ and -, at most 63',
    description: 'what logs and errors call it; `default` is `apiKey`',
  }),
  apiKey: secret('the key'),
});

/** `default: {}` so that defaults are filled inside each provider. */
const provider = section('one provider of models', {
  baseUrl: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s/]+',
      'x-allowed': 'an http:// or https:// URL',
      description: 'where its API is; `anthropic`, `openai` and `google` have their own',
    }),
  ),
  apiKey: Type.Optional(
    secret(
      'its key. `anthropic`, `openai` and `google` at their own address take ANTHROPIC_API_KEY, ' +
        'OPENAI_API_KEY and GEMINI_API_KEY (or GOOGLE_API_KEY) by themselves',
    ),
  ),
  profiles: Type.Array(profile, {
    default: [],
    description: 'more keys, asked in order when the one before them cannot answer',
  }),
  api: oneOf(MODEL_APIS, {
    description: 'which protocol it speaks; known for `anthropic`, `openai` and `google`',
  }),
  headers: Type.Record(
    Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
    secret('a value'),
    {
      default: {},
      additionalProperties: false,
      description: 'more headers to send with each request',
    },
  ),
  streamOptions: Type.Boolean({
    default: true,
    description:
      '`openai-completions` only: send `stream_options`, which asks for a count of tokens; ' +
      'false for a server that refuses it: then they are estimated',
  }),
  models: Type.Array(model, {
    default: [],
    description: 'its models, the first one its standard; any other may be named as well',
  }),
});

export const modelsSection = section('where models run', {
  providers: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }), provider, {
    default: {},
    additionalProperties: false,
    description: 'by the name before the slash in `provider/model`',
  }),
});
