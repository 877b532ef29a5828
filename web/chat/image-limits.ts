/** What images a message may have, and the text that says so. */
import { strings } from '../strings.ts';

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Limits of the gateway (channels/gateway/sessions/attachments.ts); bytes. */
export const IMAGE_BOUNDS = { count: 8, bytesEach: 1_048_576, bytesTogether: 2_883_584 };

export const imageLimits = (): string => {
  const { count, bytesEach, bytesTogether } = IMAGE_BOUNDS;
  return strings.imageLimits(count, sizeOf(bytesEach), sizeOf(bytesTogether));
};

/** `1.5 MB`, of 1024 × 1024 bytes. */
export const sizeOf = (bytes: number): string => {
  const megabytes = bytes / 1_048_576;
  return megabytes < 0.1
    ? `${Math.ceil(bytes / 1_024)} KB`
    : `${Number(megabytes.toFixed(megabytes < 10 ? 2 : 0))} MB`;
};
