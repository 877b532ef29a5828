/**
 * Outcomes of requests to the services, for adapters that call them over HTTP: what is certain
 * after a failure, and what is not.
 *
 * Invariant: a request is `not_sent` only if no byte of it left this process, or if the service
 * refused it. Everything else is `unknown`.
 */
import type { SendOutcome } from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import { type ErrorCode, type ErrorData, errorData } from '../../protocols/errors.ts';
import type { AccountAdapter } from './adapter.ts';

export type ConnectionEnd = Awaited<ReturnType<AccountAdapter['start']>>;

/** Of a connection that failed for a reason that may pass. */
export const connectionFailed = (thrown: unknown): ConnectionEnd => ({
  error: errorData(thrown),
  isFinal: false,
});

/** Timeout of one request that sends a message, milliseconds. */
export const REQUEST_MS = 30_000;

const EXCERPT_CHARACTERS = 200;
const EXCERPT_BYTES_MAX = 16 * 1024;

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

/** Another attempt may succeed after `retryAfterMs`. */
export const rateLimited = (service: string, retryAfterMs: number): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `${service} accepts no more messages for ${retryAfterMs} ms`,
  retryAfterMs,
});

/** The outcome after `fetch` threw. */
export function failedRequest(thrown: unknown, service: string): SendOutcome {
  const reason = reasonOf(thrown);
  if (isBeforeSending(thrown))
    return notSent({ code: 'UNAVAILABLE', message: `${service} is not reachable: ${reason}` });
  return unknownOutcome(`${service} did not answer, and may have accepted the message: ${reason}`);
}

/** System and TLS errors of a connection that was not established. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

const isBeforeSending = (thrown: unknown): boolean =>
  causesOf(thrown).some(({ code }) => typeof code === 'string' && BEFORE_SENDING.test(code));

/** The innermost message: `fetch failed` explains nothing. */
export const reasonOf = (thrown: unknown): string => {
  const { code, message } = causesOf(thrown).at(-1) ?? {};
  return String(message || code || thrown).slice(0, EXCERPT_CHARACTERS);
};

type Cause = {
  readonly code?: unknown;
  readonly message?: string;
  readonly cause?: unknown;
  /** where the SDK of Slack keeps the cause */
  readonly original?: unknown;
};

function causesOf(thrown: unknown): Cause[] {
  const causes: Cause[] = [];
  let next = thrown;
  while (next instanceof Error && causes.length < 5) {
    const cause: Cause = next;
    causes.push(cause);
    next = cause.cause ?? cause.original;
  }
  return causes;
}

/** `Retry-After` in milliseconds: seconds or an HTTP date. Undefined if absent or malformed. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header === '') return undefined;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.max(Math.ceil(ms), 0) : undefined;
}

/** The first characters of a response, for an error text. Never throws. */
export async function excerptOf(response: Response): Promise<string> {
  const body = await bytesOf(response, EXCERPT_BYTES_MAX).catch(() => undefined);
  return new TextDecoder().decode(body).slice(0, EXCERPT_CHARACTERS);
}

/** The body, or undefined if it is larger than `bytesMax`: the rest is not read. */
export async function bytesOf(
  response: Response,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
