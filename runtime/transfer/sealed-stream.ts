/**
 * Sealed stream: encryption of a stream of any length, in constant memory.
 *
 *   chunks of 64 KiB, each AES-256-GCM · tag of 16 bytes; the last one is shorter, or empty
 *
 * The nonce of a chunk is its number and whether it is the last (STREAM, Hoang et al. 2015, as in
 * age). So chunks cannot be cut off, reordered, repeated or changed.
 *
 * Invariant: a key encrypts one stream only, or always the same bytes.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';

export const STREAM_KEY_BYTES = 32;
const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;

type Parts = AsyncIterable<Uint8Array>;

/** @param about is authenticated with the stream */
export async function* sealStream(
  parts: Parts,
  key: Uint8Array,
  about: Uint8Array,
): AsyncGenerator<Buffer> {
  for await (const { number, isLast, bytes } of chunks(parts, CHUNK_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(number, isLast)).setAAD(about);
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
}

/** @throws Error when the stream is cut short, changed, or of another key */
export async function* openStream(
  parts: Parts,
  key: Uint8Array,
  about: Uint8Array,
): AsyncGenerator<Buffer> {
  for await (const { number, isLast, bytes } of chunks(parts, CHUNK_BYTES + TAG_BYTES)) {
    const tagAt = bytes.length - TAG_BYTES;
    if (tagAt < 0) throw new Error('it is cut short');
    const decipher = createDecipheriv('aes-256-gcm', key, nonce(number, isLast), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(about).setAuthTag(bytes.subarray(tagAt));
    let opened: Buffer;
    try {
      opened = Buffer.concat([decipher.update(bytes.subarray(0, tagAt)), decipher.final()]);
    } catch (cause) {
      throw new Error(`its encrypted chunk ${number} is damaged, or it is cut short`, { cause });
    }
    yield opened;
  }
}

type Chunk = { readonly number: number; readonly isLast: boolean; readonly bytes: Buffer };

/** Chunks of one size; the last one is shorter, so that every reader recognizes it. */
async function* chunks(parts: Parts, size: number): AsyncGenerator<Chunk> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  let number = 0;
  for await (const part of parts) {
    waiting.push(part);
    length += part.length;
    if (length < size) continue;
    const all = Buffer.concat(waiting);
    let at = 0;
    for (; all.length - at >= size; at += size)
      yield { number: number++, isLast: false, bytes: all.subarray(at, at + size) };
    waiting = [all.subarray(at)];
    length = all.length - at;
  }
  yield { number, isLast: true, bytes: Buffer.concat(waiting) };
}

const nonce = (number: number, isLast: boolean): Buffer => {
  const bytes = Buffer.alloc(12);
  bytes.writeUIntBE(number, 5, 6);
  bytes.writeUInt8(isLast ? 1 : 0, 11);
  return bytes;
};
