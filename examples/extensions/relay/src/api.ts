/** Requests to the chat service. */
import type { PluginAccount } from 'troupe/plugin-sdk';

type Init = { method?: string; body?: string; signal: AbortSignal };

/** The service answered with another status than 200. */
export class Refused extends Error {
  readonly status: number;
  /** the time that it asks to wait, milliseconds */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, retryAfter: string | null) {
    super(`the service answered ${status}`);
    this.status = status;
    this.retryAfterMs = status === 429 ? Number(retryAfter ?? 1) * 1_000 : undefined;
  }
}

/** The JSON of the answer. @throws Refused, or what `fetch` throws */
export async function ask(
  { config, secrets }: PluginAccount,
  path: string,
  init: Init,
): Promise<unknown> {
  const response = await fetch(`${String(config['baseUrl'])}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${secrets['token']}`, 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Refused(response.status, response.headers.get('retry-after'));
  return response.json();
}
