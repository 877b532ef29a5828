/** The Events API over HTTP: the signature of a request and the handshake. */
import { TroupeError } from '../../../protocols/errors.ts';
import type { WebhookRequest } from '../adapter.ts';
import { checkSize, hmacSha256, isSame, jsonOf } from '../webhook-requests.ts';

/** How far a timestamp may be from the clock, seconds. */
const TOLERANCE_SEC = 300;

/**
 * The body of a request that Slack signed.
 *
 * @throws TroupeError UNAUTHORIZED, INVALID_ARGUMENT, PAYLOAD_TOO_LARGE
 */
export function verifiedBody(request: WebhookRequest, secret: string, nowMs: number): unknown {
  checkSize(request.body);
  const timestamp = request.header('x-slack-request-timestamp') ?? '';
  const found = /^v0=([0-9a-f]{64})$/.exec(request.header('x-slack-signature') ?? '')?.[1] ?? '';
  const expected = hmacSha256(secret, `v0:${timestamp}:`, request.body);
  if (!isSame(expected, Buffer.from(found, 'hex')))
    throw new TroupeError('UNAUTHORIZED', 'the signature of Slack is wrong: check signingSecret');
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_SEC)
    throw new TroupeError('UNAUTHORIZED', `the request is older than ${TOLERANCE_SEC} s`);
  return jsonOf(request.body);
}

/** The challenge of a `url_verification`, or undefined. */
export function challengeOf(body: unknown): string | undefined {
  const { type, challenge } = (body ?? {}) as { type?: unknown; challenge?: unknown };
  return type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined;
}
