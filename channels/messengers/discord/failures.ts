/**
 * Failures of Discord: what an error of @discordjs/rest, or a close code of the gateway, says about
 * a message and about the connection.
 *
 * An answer with a status below 500 proves that Discord did not accept the request. A later one, or
 * none, proves nothing. Errors are recognised by their names, so that the SDK is not imported here.
 */
import type { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest';
import type { ConnectOutput, SendOutcome } from '../../../protocols/channel.ts';
import { defined } from '../../../protocols/defined.ts';
import { type ErrorData, ERRORS, TroupeError } from '../../../protocols/errors.ts';
import { outcomeWithoutAnswer, unavailable } from '../network.ts';

export const SERVICE = 'Discord';

type Named = { readonly name: string };
const isNamed = (thrown: unknown, name: string): boolean =>
  thrown instanceof Error && (thrown as Named).name.startsWith(name);
const isRefusal = (thrown: unknown): thrown is DiscordAPIError =>
  isNamed(thrown, 'DiscordAPIError');
const isRateLimit = (thrown: unknown): thrown is RateLimitError =>
  isNamed(thrown, 'RateLimitError');
const isServerError = (thrown: unknown): thrown is HTTPError => isNamed(thrown, 'HTTPError');

/** The client forgets a token that was refused, and refuses every later request. */
export const isTokenRefused = (thrown: unknown): boolean =>
  (isRefusal(thrown) && thrown.status === 401) ||
  (thrown instanceof Error && thrown.message.startsWith('Expected token to be set'));

/** Discord does not have it, or does not show it to the bot. */
export const isHidden = (thrown: unknown): boolean =>
  isRefusal(thrown) && (thrown.status === 403 || thrown.status === 404);

export function outcomeOf(thrown: unknown): SendOutcome {
  const error = answeredError(thrown);
  if (error === undefined) return outcomeWithoutAnswer(SERVICE, thrown);
  if (isServerError(thrown)) return { status: 'unknown', error };
  if (isRateLimit(thrown)) return { status: 'not_sent', error };
  return { status: 'not_sent', error, isFinal: true };
}

export function errorOf(thrown: unknown): ErrorData {
  if (thrown instanceof TroupeError) return thrown.toData();
  return answeredError(thrown) ?? noSessionsLeft(thrown) ?? unavailable(SERVICE, thrown).toData();
}

/** Why a connection ended. */
export function endOf(thrown: unknown): ConnectOutput {
  const error = errorOf(thrown);
  return { error, isFinal: !ERRORS[error.code].retriable };
}

/** undefined: Discord sent no answer */
function answeredError(thrown: unknown): ErrorData | undefined {
  if (isTokenRefused(thrown)) return tokenRefused();
  if (isRateLimit(thrown)) return rateLimited(thrown);
  if (isServerError(thrown))
    return { code: 'UNAVAILABLE', message: `Discord failed (${thrown.status} ${thrown.message})` };
  if (!isRefusal(thrown)) return undefined;
  const remedy = REMEDIES[thrown.code];
  return {
    code: thrown.status === 403 ? 'FORBIDDEN' : 'INVALID_ARGUMENT',
    message: `Discord refused the request (${thrown.code} ${thrown.message})${
      remedy === undefined ? '' : `: ${remedy}`
    }`,
  };
}

const REMEDIES: Readonly<Record<string, string>> = {
  10003: 'the channel was deleted, or the bot was removed from the server',
  50001: 'give the role of the bot the right "View Channel" there',
  50007: 'the person accepts no direct messages from the members of a server',
  50013: 'give the role of the bot the rights "Send Messages" and "Attach Files" there',
  160002: 'give the role of the bot the right "Read Message History" there',
};

function rateLimited({ retryAfter, timeToReset, global }: RateLimitError): ErrorData {
  const retryAfterMs = Math.max(retryAfter, 0) || Math.max(timeToReset, 0);
  const scope = global ? 'all requests of the bot' : 'requests to this channel';
  return {
    code: 'RATE_LIMIT_EXCEEDED',
    message: `Discord limits the rate of ${scope}`,
    ...defined({ retryAfterMs: retryAfterMs || undefined }),
  };
}

const tokenRefused = (): ErrorData => ({
  code: 'UNAUTHORIZED',
  message:
    'Discord refused the token: it was reset or is incomplete. Create a new one in the Developer ' +
    'Portal (your application, Bot, Reset Token), and set it as the token of the account',
});

/** The SDK's error at the daily limit of sessions names the time when it ends. */
function noSessionsLeft(thrown: unknown): ErrorData | undefined {
  const message = thrown instanceof Error ? thrown.message : '';
  const [, resetsAt] = /^Not enough sessions remaining.* resets at (\S+)$/.exec(message) ?? [];
  if (resetsAt === undefined) return undefined;
  return {
    code: 'RATE_LIMIT_EXCEEDED',
    message: `the bot has opened as many sessions as Discord allows in a day, until ${resetsAt}`,
    retryAfterMs: Math.max(Date.parse(resetsAt) - Date.now(), 1_000),
  };
}

/** Close codes after which Discord would close the connection for the same reason again. */
const FINAL_CLOSES: Readonly<Record<number, () => ErrorData>> = {
  4004: tokenRefused,
  4010: () => forbidden('Discord refused the shard of the connection. Report this as a fault'),
  4011: () =>
    forbidden(
      'the bot is in more servers than one connection may have (2,500): remove it from some',
    ),
  4012: () => forbidden('Discord no longer has this version of the gateway: update troupe'),
  4013: () => forbidden('Discord does not know the intents of this connection: update troupe'),
  4014: () =>
    forbidden(
      'the bot may not read messages. In the Developer Portal (your application, Bot, Privileged ' +
        'Gateway Intents) enable "Message Content Intent", then restart the account',
    ),
};

const forbidden = (message: string): ErrorData => ({ code: 'FORBIDDEN', message });

/** undefined: the connection can be established again */
export function finalClose(code: number): TroupeError | undefined {
  const error = FINAL_CLOSES[code]?.();
  return error && TroupeError.from(error);
}
