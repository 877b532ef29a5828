/** The Gemini SDK client of a connection, loaded on first use. */
import type { GoogleGenAI, HttpOptions } from '@google/genai';
import { authentication, type OpenConnection } from './connection.ts';
import type { Fetch } from './stream.ts';

const keyHeader = 'x-goog-api-key';
const AUTHENTICATION = [keyHeader, 'authorization'];

export type GoogleClient = {
  readonly models: GoogleGenAI['models'];
  readonly httpOptionsFor: (fetch: Fetch, headers?: Record<string, string>) => HttpOptions;
};

/**
 * One client for all calls, created by the first one. The SDK logs to the console on creation when
 * both environment variables have a key, although all options are explicit.
 */
export const googleClientOf = (connection: OpenConnection): (() => Promise<GoogleClient>) => {
  let made: Promise<GoogleClient> | undefined;
  return async () => {
    const proof = authentication(connection, AUTHENTICATION, 'GEMINI_API_KEY');
    made ??= connect(connection, proof);
    return made;
  };
};

const connect = async (
  connection: OpenConnection,
  proof: ReturnType<typeof authentication>,
): Promise<GoogleClient> => {
  const { headers: own, without } = ownHeaders(proof);
  const { models } = (await open(connection, proof, {})).sdk;
  return {
    models,
    httpOptionsFor: (fetch, headers = {}) => ({
      headers: { ...headers, ...own },
      fetch: leavingOut(without, fetch),
    }),
  };
};

/** For files and batches: its upload uses the `fetch` of the client, and not that of a call. */
export type GoogleFilesClient = Pick<GoogleGenAI, 'files' | 'batches'> & {
  /** For what the SDK leaves out. @param path below the version @throws ApiError as the SDK */
  get(this: void, path: string): Promise<Response>;
};

/** A client for one request or transfer. @param fetch of it, also bound to its signal */
export async function connectGoogle(
  connection: OpenConnection,
  fetch: Fetch,
): Promise<GoogleFilesClient> {
  const proof = authentication(connection, AUTHENTICATION, 'GEMINI_API_KEY');
  const { headers, without } = ownHeaders(proof);
  const own = leavingOut(without, fetch);
  const { sdk, ApiError } = await open(connection, proof, { headers, fetch: own });
  const { files, batches } = sdk;
  const { root, apiVersion } = addressOf(connection);
  return {
    files,
    batches,
    async get(path) {
      const sent = { headers: { [keyHeader]: proof.apiKey, ...headers } };
      const response = await own(`${root}/${apiVersion}/${path}`, sent);
      if (response.ok) return response;
      throw new ApiError({ status: response.status, message: await response.text() });
    },
  };
}

async function open(
  connection: OpenConnection,
  { apiKey }: ReturnType<typeof authentication>,
  httpOptions: HttpOptions,
) {
  const { GoogleGenAI: Sdk, ApiError } = await import('@google/genai');
  const { root, apiVersion } = addressOf(connection);
  const sdk = new Sdk({
    apiKey,
    enterprise: false,
    vertexai: false,
    apiVersion,
    httpOptions: { ...httpOptions, baseUrl: root },
  });
  return { sdk, ApiError };
}

/** The SDK adds the version to the path; some configured base URLs already contain it. */
function addressOf({ baseUrl }: OpenConnection): { root: string; apiVersion: string } {
  const [, root = baseUrl, apiVersion = 'v1beta'] = /^(.*?)(?:\/(v\d\w*))?$/.exec(baseUrl) ?? [];
  return { root, apiVersion };
}

function ownHeaders({ headers: all }: ReturnType<typeof authentication>) {
  const headers: Record<string, string> = {};
  const without: string[] = [];
  for (const [name, value] of Object.entries(all)) {
    if (value === null) without.push(name);
    else headers[name] = value;
  }
  return { headers, without };
}

/** Removes the key that the SDK requires, for a server without authentication. */
const leavingOut =
  (names: readonly string[], fetch: Fetch): Fetch =>
  (url, init) => {
    const headers = new Headers(init?.headers);
    for (const name of names) headers.delete(name);
    return fetch(url, { ...init, headers });
  };
