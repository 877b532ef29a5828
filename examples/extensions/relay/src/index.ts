/**
 * A channel for a chat service with this API, each request with `Authorization: Bearer TOKEN`:
 *
 *   GET  /me                  { id, name, last }: the account, and the number of the last message
 *   GET  /updates?after=N     messages after N as soon as there is one, at most 20 s later
 *   POST /messages            { id, chat, text, replyTo, file? }: a repeated id is one message;
 *                             file has name, contentType and data, its bytes in base64
 *   POST /typing              { chat }
 *   GET  /files/ID            { data }: the bytes of a file in base64
 */
import {
  type ChannelConnection,
  definePlugin,
  type PluginAccount,
  type PluginChannel,
} from 'troupe/plugin-sdk';
import { ask, Refused } from './api.ts';

type Update = { number: number; message: Parameters<ChannelConnection['messages']>[0][number] };
type Me = { id: string; name: string; last: number };

/** Receives until the signal is aborted or a request fails. */
async function receive(account: PluginAccount, connection: ChannelConnection): Promise<void> {
  const { signal } = connection;
  const me = (await ask(account, '/me', { signal })) as Me;
  // The position of another account means nothing here.
  const known = connection.identity === me.id ? connection.position : undefined;
  let after = (known as { after?: number } | undefined)?.after ?? me.last;
  await connection.connected(me.id, me.name);
  // Stored before the first message: a restart continues here, not at the end.
  if (known === undefined) await connection.setPosition({ after });
  while (!signal.aborted) {
    const updates = (await ask(account, `/updates?after=${after}`, { signal })) as Update[];
    if (updates.length === 0) continue;
    await connection.messages(updates.map(({ message }) => message));
    after = updates.at(-1)?.number ?? after;
    await connection.setPosition({ after });
  }
}

/** Posts a message. What the service did not refuse, it may have accepted. */
async function post(
  account: PluginAccount,
  message: object,
  signal: AbortSignal,
): ReturnType<PluginChannel['send']> {
  try {
    const body = JSON.stringify(message);
    const posted = await ask(account, '/messages', { method: 'POST', body, signal });
    return { status: 'sent', messageId: (posted as { id: string }).id };
  } catch (error) {
    const { message: why } = error as Error;
    if (!(error instanceof Refused) || error.status >= 500)
      return { status: 'unknown', error: { code: 'UNAVAILABLE', message: why } };
    const { retryAfterMs } = error;
    return retryAfterMs === undefined
      ? { status: 'not_sent', isFinal: true, error: { code: 'FORBIDDEN', message: why } }
      : {
          status: 'not_sent',
          error: { code: 'RATE_LIMIT_EXCEEDED', message: why, retryAfterMs },
        };
  }
}

export default definePlugin({
  name: 'relay',
  version: '1.0.0',
  channels: [
    {
      id: 'relay',
      async start(account, connection) {
        try {
          await receive(account, connection);
          return undefined;
        } catch (error) {
          const isFinal = error instanceof Refused && error.status === 401;
          const remedy = isFinal ? '. Create a new token in the service, and configure it' : '';
          return { error: `${(error as Error).message}${remedy}`, isFinal };
        }
      },
      send: (account, { id, chat, text, replyTo }, { signal }) =>
        post(account, { id, chat, text, replyTo }, signal),
      sendFile: (account, { id, chat, file, replyTo }, { signal }) =>
        post(account, { id, chat, text: '', file, replyTo }, signal),
      async typing(account, chat, { signal }) {
        await ask(account, '/typing', { method: 'POST', body: JSON.stringify({ chat }), signal });
      },
      async download(account, { id }, { signal }) {
        const { data } = (await ask(account, `/files/${id}`, { signal })) as { data: string };
        return data;
      },
    },
  ],
});
