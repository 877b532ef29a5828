/**
 * Tokens of devices: a paired device sends its token instead of the shared secret. The gateway
 * creates a token and sends it once. Only its SHA-256 is stored, in the device's row.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const BYTES = 32;

/** base64url, 43 characters. */
export const newDeviceToken = (): string => randomBytes(BYTES).toString('base64url');

/** Hex SHA-256. */
export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/** Compared in constant time. */
export const isToken = (token: string, hash: string | undefined): boolean =>
  hash !== undefined &&
  timingSafeEqual(Buffer.from(hashOfToken(token), 'hex'), Buffer.from(hash, 'hex'));
