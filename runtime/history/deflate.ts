/** How history is compressed. */
import { deflateRaw, deflateRawSync } from 'node:zlib';
import { promisify } from 'node:util';

/**
 * What repeats is near and often, so the fastest level finds it. A small window, because filling
 * the tables of a large one takes longer than a small text.
 */
const OPTIONS = { level: 1, memLevel: 6, windowBits: 13 };
/** The way to the thread pool and back takes about as long as this many bytes. */
const POOL_BYTES_MIN = 8_192;
const inPool = promisify(deflateRaw);

/** Raw DEFLATE, of larger texts in the thread pool. */
export const deflated = async (bytes: Buffer): Promise<Buffer> =>
  bytes.length < POOL_BYTES_MIN ? deflateRawSync(bytes, OPTIONS) : inPool(bytes, OPTIONS);
