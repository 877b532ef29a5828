/** The key that signs messages of the channel `webhook` (Standard Webhooks 1.0). */

const BYTES_MIN = 24;

/** What to do about a secret without a key. */
export const WEBHOOK_SECRET_RULE =
  'needs at least 24 bytes: use `whsec_` with their base64, or a longer text';

/** The base64 after `whsec_`, or the text itself. Undefined: too short. */
export function webhookKeyOf(secret: string): Buffer | undefined {
  const encoded = /^whsec_(.*)$/s.exec(secret)?.[1];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64');
  return key.length < BYTES_MIN ? undefined : key;
}
