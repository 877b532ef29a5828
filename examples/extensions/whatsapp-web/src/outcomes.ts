/**
 * What happened to a message, by what Baileys and WhatsApp answer. The texts of Baileys are parsed
 * here and in closing.ts only.
 *
 * Baileys' `sendMessage` ends when the message is written to the connection. That WhatsApp has
 * accepted it is known by its acknowledgement. WhatsApp does not promise that a message whose id is
 * repeated is shown once, so nothing is sent again after an unknown outcome.
 */
import { randomBytes } from 'node:crypto';
import type { PluginChannel } from 'troupe/plugin-sdk';

export type Outcome = Awaited<ReturnType<PluginChannel['send']>>;

/** WhatsApp does not say how long. */
const RATE_LIMIT_MS = 60_000;

/** Why WhatsApp refuses a message: the `error` of an acknowledgement. */
const REFUSALS: Readonly<Record<string, string>> = {
  '463': 'WhatsApp does not let this number write to people who have not written to it',
  '479': 'WhatsApp refused the form of the message (479)',
};

export const newMessageId = (): string => `3EB0${randomBytes(9).toString('hex').toUpperCase()}`;

export const unknown = (message: string): Outcome => ({
  status: 'unknown',
  error: { code: 'UNAVAILABLE', message },
});

export const notSent = (message: string): Outcome => ({
  status: 'not_sent',
  error: { code: 'UNAVAILABLE', message },
});

export const refused = (message: string): Outcome => ({
  status: 'not_sent',
  isFinal: true,
  error: { code: 'FORBIDDEN', message },
});

const rateLimited = (message: string): Outcome => ({
  status: 'not_sent',
  error: { code: 'RATE_LIMIT_EXCEEDED', message, retryAfterMs: RATE_LIMIT_MS },
});

export function outcomeOfAck(messageId: string, error: string | undefined): Outcome {
  if (error === undefined) return { status: 'sent', messageId };
  if (error === '429') return rateLimited('WhatsApp limits the rate of this number');
  return refused(REFUSALS[error] ?? `WhatsApp refused the message (${error})`);
}

/** `sendMessage` has failed, before or while the message was written. */
export function outcomeOfFailure(error: unknown): Outcome {
  const { message } = error as Error;
  switch (statusOf(error)) {
    case 428: // found closed before the write, or while the devices of the person were asked for
      return notSent(`the connection was closed: ${message}`);
    case 429:
      return rateLimited(`WhatsApp limits the rate of this number: ${message}`);
    default:
      return message.startsWith('Media upload failed') ? notSent(message) : unknown(message);
  }
}

/** The status of an error of Baileys (a Boom). */
export function statusOf(error: unknown): number | undefined {
  const { output } = (error ?? {}) as { readonly output?: { readonly statusCode?: unknown } };
  return typeof output?.statusCode === 'number' ? output.statusCode : undefined;
}
