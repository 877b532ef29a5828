/** Requests to the tracker, and what its refusals mean to the caller. */
import { type CallContext, PluginError } from 'troupe/plugin-sdk';

type Init = { method?: string; headers?: Record<string, string>; body?: string };

/** The JSON of the answer. @throws PluginError with the code that fits its status */
export async function ask(
  { plugin, signal }: CallContext,
  path: string,
  init: Init = {},
): Promise<unknown> {
  const response = await fetch(`${String(plugin.config['baseUrl'])}${path}`, {
    ...init,
    signal,
    headers: {
      ...init.headers,
      authorization: `Bearer ${plugin.secrets['token']}`,
      'content-type': 'application/json',
    },
  });
  if (response.ok) return response.json();
  const text = `the tracker answered ${response.status}: ${await response.text()}`;
  if (response.status === 429) {
    const seconds = Number(response.headers.get('retry-after') ?? 1);
    throw new PluginError('RATE_LIMIT_EXCEEDED', text, { retryAfterMs: seconds * 1_000 });
  }
  throw new PluginError(response.status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE', text);
}
