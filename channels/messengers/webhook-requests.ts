/**
 * What the accounts with a webhook share: signatures over the raw body, bodies as JSON, and a
 * connection that consists of waiting for requests.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ConnectOutput } from '../../protocols/channel.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Connection } from './adapter.ts';

/** Largest body of a webhook request, unless a service sends larger ones. */
const WEBHOOK_BYTES_MAX = 1024 * 1024;

export const hmacSha256 = (
  key: string | Uint8Array,
  ...parts: readonly (string | Uint8Array)[]
): Buffer => {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
};

/** Compares in constant time. */
export const isSame = (expected: Buffer, found: Buffer): boolean =>
  expected.length === found.length && timingSafeEqual(expected, found);

/** @throws TroupeError PAYLOAD_TOO_LARGE */
export function checkSize(body: Uint8Array, bytesMax = WEBHOOK_BYTES_MAX): void {
  if (body.byteLength > bytesMax)
    throw new TroupeError(
      'PAYLOAD_TOO_LARGE',
      `the body has ${body.byteLength} bytes; at most ${bytesMax} are accepted`,
    );
}

/** @throws TroupeError INVALID_ARGUMENT */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the body is not JSON in UTF-8', { cause });
  }
}

/** Resolves when the connection is no longer wanted. */
export const untilAborted = async ({ signal }: Connection): Promise<ConnectOutput> => {
  if (!signal.aborted)
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
  return STOPPED;
};

export const STOPPED: ConnectOutput = {
  error: { code: 'CANCELLED', message: 'the connection was stopped' },
  isFinal: false,
};
