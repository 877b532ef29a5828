/** The OpenAI SDK client of one call, loaded on first use; both OpenAI APIs use it. */
import type OpenAI from 'openai';
import { authentication, type OpenConnection } from './connection.ts';
import type { Fetch } from './stream.ts';

/**
 * One client per call: a client is cheap, connections are pooled below `fetch`, and each call has
 * its own `fetch`.
 */
export const connectOpenAi = async (connection: OpenConnection, fetch: Fetch): Promise<OpenAI> => {
  const credentials = authentication(connection, ['authorization', 'api-key'], 'OPENAI_API_KEY');
  const { default: Sdk } = await import('openai');
  return new Sdk({
    apiKey: credentials.apiKey,
    // null prevents the SDK from reading these from the environment
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: connection.baseUrl,
    defaultHeaders: credentials.headers,
    maxRetries: 0,
    timeout: 2 ** 31 - 1, // off: stream.ts has a limit for idle streams
    logLevel: 'off', // it would write whole events to the console
    fetch,
  });
};
