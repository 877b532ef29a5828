/**
 * Posts notifications as the Agent2Agent protocol has them: the task in a StreamResponse, with the
 * authentication that the client configured, signed with the key of the installation.
 *
 * The signature is a JWT in `x-troupe-signature`, and in `authorization` where the client
 * configured no scheme: `aud` is the URL, `jti` the id of the notification, which is the same for
 * all attempts, and `request_body_sha256` the digest of the body, in hex.
 */
import { createHash } from 'node:crypto';
import { A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk';
import { SignJWT } from 'jose';
import { maskedJson } from '../../operations/masked.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { PushDelivery, PushSender } from '../../protocols/push.ts';
import type { Sealer } from '../edge/identity/sealer.ts';
import { SIGNING_ALG, type Signer } from '../edge/identity/signer.ts';
import { VERSION } from './cards.ts';
import { openSecrets } from './push-secrets.ts';
import { snapshotOf } from './task-view.ts';

const VALID_SEC = 300;

/** One request; it reaches only addresses that are allowed, and follows no redirects. */
type GuardedPost = (
  url: URL,
  options: {
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly signal: AbortSignal;
  },
) => Promise<{ readonly status: number; readonly retryAfterSec: number | undefined }>;

export type PushSenderOptions = {
  readonly request: GuardedPost;
  readonly signer: Pick<Signer, 'keys'>;
  readonly sealer: Pick<Sealer, 'open'>;
  /** base URL of this installation for other programs, without a final slash */
  readonly publicUrl: () => string;
  /** replaces the secrets of the installation in a text */
  readonly maskSecrets: (text: string) => string;
};

export const createPushSender =
  (options: PushSenderOptions): PushSender =>
  async (delivery, signal) => {
    const { tenant, id, config, secret, view } = delivery;
    const body = maskedJson(StreamResponse.toJSON(snapshotOf(view)), options.maskSecrets);
    const signature = await signatureOf(options, delivery, body);
    const { token, credentials } = await openSecrets(options.sealer, secret, tenant, config);
    const url = new URL(config.url);
    const { status, retryAfterSec } = await options.request(url, {
      method: 'POST',
      headers: {
        'content-type': A2A_CONTENT_TYPE,
        'a2a-version': VERSION,
        'idempotency-key': id,
        'x-troupe-signature': signature,
        authorization: config.scheme ? `${config.scheme} ${credentials}` : `Bearer ${signature}`,
        ...(token === '' ? {} : { 'x-a2a-notification-token': token }),
      },
      body,
      signal,
    });
    if (status >= 200 && status < 300) return;
    const message = `${url.origin} answered the notification with status ${status}`;
    const why = status === 410 ? 'the receiver is gone' : 'redirects are not followed';
    if ((status >= 300 && status < 400) || status === 410)
      throw new TroupeError('INVALID_ARGUMENT', `${message}: ${why}`);
    const pause = retryAfterSec === undefined ? {} : { retryAfterMs: retryAfterSec * 1_000 };
    throw new TroupeError('UNAVAILABLE', message, pause);
  };

function signatureOf(
  { signer, publicUrl }: PushSenderOptions,
  { id, config }: PushDelivery,
  body: string,
): Promise<string> {
  const [{ kid, key }] = signer.keys;
  const issuer = publicUrl();
  return new SignJWT({
    task_id: config.task_id,
    request_body_sha256: createHash('sha256').update(body).digest('hex'),
  })
    .setProtectedHeader({
      alg: SIGNING_ALG,
      typ: 'JWT',
      kid,
      jku: `${issuer}/.well-known/jwks.json`,
    })
    .setIssuer(issuer)
    .setAudience(config.url)
    .setJti(id)
    .setIssuedAt()
    .setExpirationTime(`${VALID_SEC}s`)
    .sign(key);
}
