/**
 * Connection: the address and credentials of a remote provider, and what its adapter needs of them.
 *
 * Invariant: the key and the header values exist only in closures. JSON, inspection and errors of a
 * provider never show them.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { type FailureContext, missingKey } from './failure.ts';
import { unknownModel } from './known-models.ts';
import type { ModelInfo } from './model.ts';
import type { CallClock } from './stream.ts';

/** A secret of the configuration: an object that reveals its text, or the text. */
export type SecretText = string | { reveal(): string };

export type Connection = {
  /** the provider's name in the configuration */
  readonly id: string;
  /** base URL of the API; default the provider's own */
  readonly baseUrl?: string;
  readonly apiKey?: SecretText;
  /** name of this key; absent when the provider has a single key */
  readonly profile?: string;
  /**
   * Chat Completions only: whether the server accepts `stream_options`, which requests token
   * counts; without it they are estimated. Default true
   */
  readonly streamOptions?: boolean;
  /** sent with each request; they override ours */
  readonly headers?: Readonly<Record<string, SecretText>>;
  readonly models: readonly ModelInfo[];
  readonly clock: CallClock;
};

/** A connection with revealed secrets; only an adapter's closure holds it. */
export type OpenConnection = {
  readonly id: string;
  /** receiver of continuations: encrypted reasoning can only be read with the same key */
  readonly origin: string;
  readonly models: readonly ModelInfo[];
  readonly baseUrl: string;
  /** whether the base URL is the provider's default */
  readonly official: boolean;
  readonly apiKey: string | undefined;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: CallClock;
  readonly failure: FailureContext;
};

/**
 * @throws TroupeError INVALID_ARGUMENT when the key or a header value contains a character that is
 *   invalid in an HTTP header, such as a line break. The HTTP client would put the whole value into
 *   its error.
 */
export const openConnection = (connection: Connection, officialUrl: string): OpenConnection => {
  const { clock } = connection;
  const path = `models.providers.${connection.id}`;
  const apiKey = connection.apiKey === undefined ? undefined : reveal(connection.apiKey);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(connection.headers ?? {})) {
    headers[name.toLowerCase()] = sendable(reveal(value), `${path}.headers.${name}`);
  }
  if (apiKey !== undefined) sendable(apiKey, `${path}.apiKey`);
  const baseUrl = withoutSlash(connection.baseUrl ?? officialUrl);
  return {
    id: connection.id,
    origin: connection.profile ? `${connection.id}#${connection.profile}` : connection.id,
    models: connection.models,
    baseUrl,
    official: baseUrl === officialUrl,
    apiKey: apiKey === '' ? undefined : apiKey,
    headers,
    clock,
    failure: {
      provider: connection.id,
      keyPath: `${path}.apiKey`,
      secrets: [...(apiKey ? [apiKey] : []), ...Object.values(headers)],
      wallMs: () => clock.wallMs(),
    },
  };
};

/** The known properties of a model, or the defaults for an unknown one. */
export const modelOf = ({ models }: OpenConnection, id: string): ModelInfo =>
  models.find((model) => model.id === id) ?? { id, ...unknownModel };

/**
 * The headers for an SDK. Without a key, null removes the SDK's own header (some SDKs require a
 * key), so that a server without authentication receives none.
 * @throws TroupeError UNAUTHORIZED without credentials, when the address is the provider's own
 */
export const authentication = (
  connection: OpenConnection,
  keyHeaders: readonly string[],
  variable: string,
): { apiKey: string; headers: Record<string, string | null> } => {
  const proven =
    connection.apiKey !== undefined || keyHeaders.some((name) => name in connection.headers);
  if (!proven && connection.official) throw missingKey(connection.failure, variable);
  const none = connection.apiKey === undefined ? keyHeaders.map((name) => [name, null]) : [];
  return {
    apiKey: connection.apiKey ?? 'none',
    headers: { ...Object.fromEntries(none), ...connection.headers },
  };
};

const reveal = (secret: SecretText): string =>
  typeof secret === 'string' ? secret : secret.reveal();

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

const sendable = (value: string, path: string): string => {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} contains a line break or another character that is invalid in an HTTP header. Correct it.`,
    { details: { path } },
  );
};
