/** Outcomes of requests to the services, and the parts of HTTP answers that they are made from. */
import type { ConnectOutput, SendOutcome } from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import { type ErrorCode, type ErrorData, errorData } from '../../protocols/errors.ts';

/** Of a connection that failed for a reason that may pass. */
export const connectionFailed = (thrown: unknown): ConnectOutput => ({
  error: errorData(thrown),
  isFinal: false,
});

/** Timeout of one request that sends a message, milliseconds. */
export const REQUEST_MS = 30_000;

const EXCERPT_CHARACTERS = 200;

export const sent = (messageId: string | undefined): SendOutcome =>
  messageId === undefined ? { status: 'sent' } : { status: 'sent', messageId };

/** @param code INVALID_ARGUMENT and the like: another attempt would be refused, too */
export const refused = (code: ErrorCode, message: string): SendOutcome => ({
  status: 'not_sent',
  error: { code, message },
  isFinal: true,
});

export const notSent = (error: ErrorData): SendOutcome => ({ status: 'not_sent', error });

export const unknownOutcome = (message: string, retryAfterMs?: number): SendOutcome => ({
  status: 'unknown',
  error: { code: 'UNAVAILABLE', message, ...defined({ retryAfterMs }) },
});

/** Of an upload, after which the file is not visible yet: it may be repeated. */
export const ofUpload = (outcome: Exclude<SendOutcome, { status: 'sent' }>): SendOutcome => {
  const { code, message, ...rest } = outcome.error;
  const error = { ...rest, code, message: `the file was not uploaded: ${message}` };
  return outcome.status === 'unknown' ? notSent(error) : { ...outcome, error };
};

/** Another attempt may succeed after `retryAfterMs`. */
export const rateLimited = (service: string, retryAfterMs: number): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `${service} accepts no more messages for ${retryAfterMs} ms`,
  retryAfterMs,
});

/** `Retry-After` in milliseconds: seconds or an HTTP date. Undefined if absent or malformed. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header === '') return undefined;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.max(Math.ceil(ms), 0) : undefined;
}

/** The first characters of a response, for an error text. Never throws. */
export async function excerptOf(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= EXCERPT_CHARACTERS) break;
    }
  } catch {
    // The status is the answer; its text is only an explanation.
  }
  return text.slice(0, EXCERPT_CHARACTERS);
}
