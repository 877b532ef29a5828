/**
 * Failures of the Bot API: what an error of grammY says about a message, and about the connection.
 *
 * Invariants:
 *  1. No text contains the token; the URL of each request does, so the messages of network errors
 *     are not repeated.
 *  2. An error that Telegram sent with a status below 500 proves that it did not accept the
 *     request. A later one, or none, proves nothing.
 */
import type { GrammyError } from 'grammy';
import type { ConnectOutput, SendOutcome } from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { type ErrorData, ERRORS, TroupeError } from '../../../protocols/errors.ts';
import { outcomeWithoutAnswer, unavailable } from '../network.ts';

export const SERVICE = 'Telegram';

const isAnswer = (thrown: unknown): thrown is GrammyError =>
  thrown instanceof Error && thrown.name === 'GrammyError';

/** `getUpdates` was refused, because another program receives the updates of this bot. */
export const isConflict = (thrown: unknown): boolean =>
  isAnswer(thrown) && thrown.error_code === 409;

export const hasUnreadableMarkup = (thrown: unknown): boolean =>
  isAnswer(thrown) && /can't parse entities/i.test(thrown.description);

/** Such as PHOTO_INVALID_DIMENSIONS or IMAGE_PROCESS_FAILED. */
export const hasUnreadablePhoto = (thrown: unknown): boolean =>
  isAnswer(thrown) && thrown.error_code === 400 && /PHOTO|IMAGE/.test(thrown.description);

/** The message has this text already. */
export const isUnchanged = (thrown: unknown): boolean =>
  isAnswer(thrown) && /message is not modified/i.test(thrown.description);

export function outcomeOf(thrown: unknown): SendOutcome {
  if (!isAnswer(thrown)) return outcomeWithoutAnswer(SERVICE, thrown);
  const error = errorOf(thrown);
  if (thrown.error_code >= 500) return { status: 'unknown', error };
  if (thrown.error_code === 429) return { status: 'not_sent', error };
  return { status: 'not_sent', error, isFinal: true };
}

/** Why a connection ended. */
export function endOf(thrown: unknown): ConnectOutput {
  if (thrown instanceof TroupeError)
    return { error: thrown.toData(), isFinal: !ERRORS[thrown.code].retriable };
  if (!isAnswer(thrown)) return { error: unavailable(SERVICE, thrown).toData(), isFinal: false };
  const isFinal = isTokenRefused(thrown.error_code) || thrown.error_code === 409;
  return { error: errorOf(thrown), isFinal };
}

/** Telegram answers 404 to a token that no bot can have. */
const isTokenRefused = (status: number): boolean => status === 401 || status === 404;

function errorOf({ error_code: status, description, parameters, method }: GrammyError): ErrorData {
  if (isTokenRefused(status))
    return {
      code: 'UNAUTHORIZED',
      message:
        `Telegram refused the token (${status} ${description}): it was revoked or is incomplete. ` +
        'Get the current one from @BotFather (/token), and set it as the token of the account',
    };
  if (status === 409)
    return {
      code: 'CONFLICT',
      message:
        `another program receives the updates of this bot (${description}). Stop it, or create a ` +
        'second bot for it with @BotFather; if you do not know it, revoke the token there ' +
        '(/revoke). Then restart the account',
    };
  if (status === 429)
    return {
      code: 'RATE_LIMIT_EXCEEDED',
      message: `Telegram limits the rate: ${description}`,
      ...defined({ retryAfterMs: parameters.retry_after && parameters.retry_after * 1_000 }),
    };
  if (status >= 500)
    return { code: 'UNAVAILABLE', message: `Telegram failed (${status} ${description})` };
  const moved = parameters.migrate_to_chat_id;
  return {
    code: status === 403 ? 'FORBIDDEN' : 'INVALID_ARGUMENT',
    message: `Telegram refused ${method} (${status} ${description})${
      moved === undefined ? '' : `: the group is now a supergroup with the id ${moved}`
    }`,
  };
}
