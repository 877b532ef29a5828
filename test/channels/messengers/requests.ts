/** Requests to the webhook of an account. */
import type { WebhookRequest } from '../../../channels/messengers/adapter.ts';

/** @param headers in lower case */
export const post = (
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): WebhookRequest => ({
  method: 'POST',
  query: new URLSearchParams(),
  header: (name) => headers[name],
  body: Buffer.from(body),
});

export const get = (query: string): WebhookRequest => ({
  method: 'GET',
  query: new URLSearchParams(query),
  header: () => undefined,
  body: new Uint8Array(),
});
