/**
 * A program that receives the posts of a webhook account, as docs/channels/webhook.md asks: it
 * verifies Standard Webhooks' signature by itself and ignores repeated ids. It also signs what it
 * sends.
 */
import { createHmac } from 'node:crypto';
import { type FaultyServer, openFaultyServer, type Received } from './http-faults.ts';

export type WebhookServer = FaultyServer & {
  /** bodies by id: each message once */
  readonly messages: Map<string, Body>;
  /** ids of all accepted posts, repeats included */
  readonly ids: string[];
  /** called for each message that was not received before */
  onMessage: ((body: Body) => void) | undefined;
  /** Posts to an account, one after another, each until it is answered with 2xx. */
  send(hookUrl: string, id: string, body: object): void;
};
type Body = {
  readonly text: string;
  readonly file?: { readonly name: string; readonly content: string };
  readonly chat: { readonly id: string; readonly thread?: string };
};
const REPEAT_MS = 20;

export async function openWebhookServer(secret: string): Promise<WebhookServer> {
  const messages: WebhookServer['messages'] = new Map();
  const ids: string[] = [];
  const server = await openFaultyServer((request) => {
    const id = request.header('webhook-id') ?? '';
    if (!isSigned(secret, id, request)) return { status: 401, body: 'wrong signature' };
    ids.push(id);
    if (!messages.has(id)) {
      const body = JSON.parse(request.body.toString()) as Body;
      messages.set(id, body);
      opened.onMessage?.(body);
    }
    return { status: 204 };
  });
  let isOpen = true;
  let last = Promise.resolve();
  const deliver = async (hookUrl: string, id: string, body: string) => {
    while (isOpen && !(await isAccepted(hookUrl, headersOf(secret, id, body), body)))
      await new Promise((resolve) => setTimeout(resolve, REPEAT_MS));
  };
  const opened: WebhookServer = {
    ...server,
    messages,
    ids,
    onMessage: undefined,
    send(hookUrl, id, body) {
      last = last.then(() => deliver(hookUrl, id, JSON.stringify(body)));
    },
    async close() {
      isOpen = false;
      await server.close();
    },
  };
  return opened;
}

async function isAccepted(url: string, headers: Record<string, string>, body: string) {
  const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}

/** Headers of a request to an account. */
export const headersOf = (
  secret: string,
  id: string,
  body: string,
  timestamp = String(Math.floor(Date.now() / 1000)),
) => ({
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': signatureOf(secret, id, timestamp, body),
});

/** `v1,…` of a body; the secret is `whsec_` with base64. */
export const signatureOf = (secret: string, id: string, timestamp: string, body: string) =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64')}`;

const isSigned = (secret: string, id: string, { header, body }: Received): boolean => {
  const timestamp = header('webhook-timestamp') ?? '';
  const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300;
  const expected = signatureOf(secret, id, timestamp, body.toString());
  return isFresh && header('webhook-signature')?.split(' ').includes(expected) === true;
};
