/**
 * The webhook of a Telegram bot: registers it, watches that it stays registered, and verifies
 * requests. Telegram repeats a request until it is answered with 2xx, so an answer follows only
 * after the messages are stored.
 */
import type { Api } from 'grammy';
import type { Update } from 'grammy/types';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { Secret } from '../../../runtime/config/index.ts';
import type { WebhookRequest } from '../adapter.ts';
import { pause } from '../pause.ts';
import { apiSignal } from './client.ts';
import { ALLOWED_UPDATES } from './inbound.ts';

export type Webhook = { readonly url: string; readonly secret: Secret };

/** Characters that Telegram accepts in a secret token. */
const SECRET = /^[A-Za-z0-9_-]{1,256}$/;

/**
 * One request at a time, because Telegram keeps no order between several. A new bot starts with the
 * next message.
 *
 * @throws TroupeError INVALID_ARGUMENT: the secret has other characters than Telegram accepts
 */
export async function register(
  api: Api,
  { url, secret }: Webhook,
  { isNew }: { readonly isNew: boolean },
  signal: AbortSignal,
): Promise<void> {
  if (!SECRET.test(secret.reveal()))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'webhookSecret must have 1 to 256 letters, digits, _ and -: set another one',
    );
  const options = {
    secret_token: secret.reveal(),
    max_connections: 1,
    allowed_updates: ALLOWED_UPDATES,
    drop_pending_updates: isNew,
  };
  await api.setWebhook(url, options, apiSignal(signal));
}

export type Watch = {
  readonly api: Api;
  readonly clock: Clock;
  readonly url: string;
  readonly watchMs: number;
  readonly signal: AbortSignal;
  /** Telegram answered; with the error of its last attempt to call the webhook, if there is one */
  readonly onAnswer: (lastError: string | undefined) => void;
};

/**
 * Checks again and again that Telegram calls this webhook.
 *
 * @throws TroupeError CONFLICT: another program has replaced it; errors of grammY
 */
export async function watch({ api, clock, url, watchMs, signal, onAnswer }: Watch): Promise<never> {
  for (;;) {
    await pause(clock, watchMs, signal);
    const info = await api.getWebhookInfo(apiSignal(signal));
    if (info.url !== url) throw replaced();
    onAnswer(info.pending_update_count > 0 ? info.last_error_message : undefined);
  }
}

const replaced = (): TroupeError =>
  new TroupeError(
    'CONFLICT',
    'another program has removed or replaced the webhook of this bot. Stop it, or create a second ' +
      'bot for it with @BotFather. Then restart the account',
  );

/** @throws TroupeError UNAUTHORIZED, INVALID_ARGUMENT */
export function verifiedUpdate(request: WebhookRequest, secret: Secret): Update {
  if (!secret.matches(request.header('x-telegram-bot-api-secret-token') ?? ''))
    throw new TroupeError(
      'UNAUTHORIZED',
      'the request does not contain the secret of this webhook',
    );
  const update = parsed(request.body) as Partial<Update> | null;
  if (!Number.isSafeInteger(update?.update_id))
    throw new TroupeError('INVALID_ARGUMENT', 'the body is not an update of the Bot API');
  return update as Update;
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return null;
  }
}
