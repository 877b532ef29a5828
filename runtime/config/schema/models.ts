/** Section `models`: providers, their keys, and facts about their models. */
import { Type } from '@sinclair/typebox';
import {
  BUILT_IN_PROVIDER_IDS,
  BUILT_IN_PROVIDERS,
  MODEL_APIS,
} from '../../../protocols/models/model-providers.ts';
import { oneOf, record, requestUrl, secret, section } from './fields.ts';

const dollars = (description: string) =>
  Type.Number({ minimum: 0, description: `US dollars per million ${description}` });

const tokenPrices = {
  input: dollars('tokens of input'),
  output: dollars('tokens of output, reasoning included'),
  cachedInput: Type.Optional(
    dollars('tokens that were read from the provider’s cache. Default: as `input`'),
  ),
  cacheWrite: Type.Optional(
    dollars('tokens that were written to the provider’s cache. Default: as `input`'),
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
  id: Type.String({ minLength: 1, description: 'the provider’s name of the model' }),
  contextWindow: Type.Optional(
    Type.Integer({ minimum: 1, description: 'context window in tokens' }),
  ),
  maxTokens: Type.Optional(
    Type.Integer({ minimum: 1, description: 'maximum number of tokens of one answer' }),
  ),
  price: Type.Optional(price),
  images: Type.Optional(
    Type.Boolean({
      description: 'whether it accepts images; if not, a line of text replaces them. Default true',
    }),
  ),
  thinking: Type.Optional(
    Type.Boolean({
      description:
        'whether it accepts its API’s parameters for reasoning. Default: as known for its family, false for an unknown model',
    }),
  ),
});

const profile = record('one more key of the provider', {
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
    'x-allowed': 'small letters, digits, _ and -, at most 63',
    description: 'its name in logs and errors; `default` is `apiKey`',
  }),
  apiKey: secret('the key'),
});

const inWords = (words: readonly string[]): string =>
  `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

const BUILT_IN = inWords(BUILT_IN_PROVIDER_IDS.map((id) => `\`${id}\``));
const KEY_VARIABLES = inWords(
  Object.values(BUILT_IN_PROVIDERS).map(({ keyVariables: [first, ...others] }) =>
    [first, ...others.map((name) => `(or ${name})`)].join(' '),
  ),
);

/** `default: {}` so that defaults are filled inside each provider. */
const provider = section('one provider of models', {
  baseUrl: Type.Optional(requestUrl(`URL of its API; ${BUILT_IN} have their own`)),
  apiKey: Type.Optional(
    secret(`its key. ${BUILT_IN} at their own address take ${KEY_VARIABLES} by themselves`),
  ),
  profiles: Type.Array(profile, {
    default: [],
    description: 'further keys, tried in order when the previous one fails',
  }),
  api: oneOf(MODEL_APIS, {
    description: `which protocol it speaks; known for ${BUILT_IN}`,
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
      '`openai-completions` only: send `stream_options`, which requests token counts; false for a server that refuses it: then tokens are estimated',
  }),
  models: Type.Array(model, {
    default: [],
    description: 'its models, the first one is its default; other models can be used by name, too',
  }),
});

export const modelsSection = section('where models run', {
  providers: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }), provider, {
    default: {},
    additionalProperties: false,
    description: 'by the name before the slash in `provider/model`',
  }),
});
