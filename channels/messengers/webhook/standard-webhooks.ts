/**
 * Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 with the headers
 * `webhook-id`, `webhook-timestamp` (seconds) and `webhook-signature` (`v1,<base64>`, several
 * separated by spaces).
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { hmacSha256, isSame } from '../webhook-requests.ts';

/** How far a timestamp may be from the clock, seconds. */
export const TOLERANCE_SEC = 300;
const ID_CHARACTERS_MAX = 200;
/** A sender that rotates keys signs with two. */
const SIGNATURES_MAX = 10;

export type SignedHeaders = {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

export function signedHeaders(key: Buffer, id: string, nowMs: number, body: string): SignedHeaders {
  const timestamp = String(Math.floor(nowMs / 1000));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature(key, id, timestamp, body).toString('base64')}`,
  };
}

/**
 * Returns `webhook-id`, the same for each delivery of one message.
 *
 * @throws TroupeError UNAUTHORIZED, INVALID_ARGUMENT for an id that is too long
 */
export function verify(
  key: Buffer,
  header: (name: string) => string | undefined,
  nowMs: number,
  body: Uint8Array,
): string {
  const id = header('webhook-id');
  const timestamp = header('webhook-timestamp');
  const signatures = header('webhook-signature');
  if (!id || !timestamp || !signatures)
    throw unauthorized('send webhook-id, webhook-timestamp and webhook-signature');
  const expected = signature(key, id, timestamp, body);
  if (!signaturesOf(signatures).some((found) => isSame(expected, found)))
    throw unauthorized('the signature is wrong: sign `id.timestamp.body` with the secret');
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_SEC)
    throw unauthorized(`the timestamp is more than ${TOLERANCE_SEC} s from the time of this host`);
  if (id.length > ID_CHARACTERS_MAX)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `webhook-id has ${id.length} characters; at most ${ID_CHARACTERS_MAX} are accepted`,
    );
  return id;
}

const signature = (key: Buffer, id: string, timestamp: string, body: string | Uint8Array) =>
  hmacSha256(key, `${id}.${timestamp}.`, body);

const signaturesOf = (header: string): Buffer[] =>
  header
    .split(' ', SIGNATURES_MAX)
    .filter((part) => part.startsWith('v1,'))
    .map((part) => Buffer.from(part.slice('v1,'.length), 'base64'));

const unauthorized = (why: string) => new TroupeError('UNAUTHORIZED', why);
