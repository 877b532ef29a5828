/** The Gemini SDK client of a connection, loaded on first use. */
import type { GoogleGenAI, HttpOptions } from '@google/genai';
import { authentication, type OpenConnection } from './connection.ts';
import type { Fetch } from './stream.ts';

const keyHeader = 'x-goog-api-key';

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
    const proof = authentication(connection, [keyHeader, 'authorization'], 'GEMINI_API_KEY');
    made ??= connect(connection, proof);
    return made;
  };
};

const connect = async (
  connection: OpenConnection,
  proof: ReturnType<typeof authentication>,
): Promise<GoogleClient> => {
  const { GoogleGenAI: Sdk } = await import('@google/genai');
  const own: Record<string, string> = {};
  const without: string[] = [];
  for (const [name, value] of Object.entries(proof.headers)) {
    if (value === null) without.push(name);
    else own[name] = value;
  }
  // the SDK adds the version to the path; some configured base URLs already contain it
  const [, root, apiVersion = 'v1beta'] = /^(.*?)(?:\/(v\d\w*))?$/.exec(connection.baseUrl) ?? [];
  const { models } = new Sdk({
    apiKey: proof.apiKey,
    enterprise: false,
    vertexai: false,
    apiVersion,
    httpOptions: { baseUrl: root ?? connection.baseUrl },
  });
  return {
    models,
    httpOptionsFor: (fetch, headers = {}) => ({
      headers: { ...headers, ...own },
      fetch: leavingOut(without, fetch),
    }),
  };
};

/** Removes the key that the SDK requires, for a server without authentication. */
const leavingOut =
  (names: readonly string[], fetch: Fetch): Fetch =>
  (url, init) => {
    const headers = new Headers(init?.headers);
    for (const name of names) headers.delete(name);
    return fetch(url, { ...init, headers });
  };
