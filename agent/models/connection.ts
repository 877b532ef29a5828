/**
 * Connection: where a remote provider is and how we prove who we are, and what its adapter needs of
 * it.
 *
 * Invariant: the key and the header values live in closures only; neither JSON nor inspection nor
 * an error made from a provider shows them.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { type FailureContext, missingKey } from './failure.ts';
import { unknownModel } from './known-models.ts';
import type { ModelInfo } from './model.ts';
import type { CallClock } from './stream.ts';

/** A secret as the configuration resolves it: something that reveals its text, or the text. */
export type SecretText = string | { reveal(): string };

export type Connection = {
  /** the provider's name in the configuration */
  readonly id: string;
  /** root of the API; default the provider's own */
  readonly baseUrl?: string;
  readonly apiKey?: SecretText;
  /** which of the provider's keys this is; absent when it has one only */
  readonly profile?: string;
  /**
   * Chat Completions only: whether the server takes `stream_options`, which asks it to count
   * tokens; without it they are estimated. Default true
   */
  readonly streamOptions?: boolean;
  /** sent with each request; they win over ours */
  readonly headers?: Readonly<Record<string, SecretText>>;
  readonly models: readonly ModelInfo[];
  readonly clock: CallClock;
};

/** A connection with its secrets revealed, for the inside of an adapter's closure. */
export type OpenConnection = {
  readonly id: string;
  /** who a continuation is for: sealed reasoning can be read with the same key only */
  readonly origin: string;
  readonly models: readonly ModelInfo[];
  readonly baseUrl: string;
  /** no other address was configured */
  readonly official: boolean;
  readonly apiKey: string | undefined;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: CallClock;
  readonly failure: FailureContext;
};

/**
 * @throws TroupeError INVALID_ARGUMENT when the key or a header value holds a character that no
 * HTTP header may carry (a line break pasted along): the HTTP client would put the whole value into
 * its error
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

/** What is known of a model, or what is assumed of one that nobody described. */
export const modelOf = ({ models }: OpenConnection, id: string): ModelInfo =>
  models.find((model) => model.id === id) ?? { id, ...unknownModel };

/**
 * The headers for an SDK. Without a key its own one (it insists on some) is taken out again with
 * null, so that a server that needs none gets none.
 * @throws TroupeError UNAUTHORIZED without any proof, when the address is the provider's own
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
    `${path} holds a line break or another character that no HTTP header may carry. Write it again.`,
    { details: { path } },
  );
};
