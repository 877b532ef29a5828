/**
 * Sealed file: the format of one artifact in a folder. An unencrypted header, then the contents,
 * either plain or encrypted by AES-256-GCM (NIST SP 800-38D) with the tag at the end.
 *
 * ```
 * 'TRPA' | version 1 | header length, u32 | header, JSON | contents | tag, 16 bytes, if sealed
 * ```
 *
 * Invariants:
 *  1. Header and name are authenticated with the contents: neither type nor name can be changed.
 *  2. A nonce is random and used for one file; one key seals 2^32 files at most.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Artifact } from './artifacts.ts';
import { damaged, slices } from './checks.ts';

const MAGIC = Buffer.from('TRPA\u0001', 'latin1');
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const KEY_BYTES = 32;
/** Enough of a file to hold any header. */
export const HEADER_BYTES_MAX = 1_024;

export type SealingKey = {
  /** distinguishes keys without revealing them: the beginning of a digest */
  readonly id: string;
  readonly bytes: Buffer;
};

type Header = {
  readonly contentType: string;
  readonly bytes: number;
  readonly sealed?: { readonly keyId: string; readonly nonce: string };
};
type Opened = { readonly header: Header; readonly headerBytes: Buffer; readonly start: number };

/** @throws TroupeError INVALID_ARGUMENT when the text is not 32 bytes as hex or base64 */
export function sealingKey(text: string): SealingKey {
  const hex = /^[0-9a-f]{64}$/i.test(text);
  const bytes = Buffer.from(text, hex ? 'hex' : 'base64');
  if (bytes.length !== KEY_BYTES) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'a2a.artifacts.encryptionKey is not a key: write 32 bytes as 64 hex digits or as base64, such as ' +
        'the output of `openssl rand -hex 32`',
    );
  }
  const id = createHash('sha256').update('troupe sealing key').update(bytes).digest('hex');
  return { id: id.slice(0, 8), bytes };
}

/** The file of an artifact, in parts, to be written one after the other. */
export function* sealedParts(
  artifact: Artifact,
  contents: Uint8Array,
  key?: SealingKey,
): Generator<Uint8Array> {
  const { contentType, bytes, hash } = artifact;
  if (!key) {
    yield head({ contentType, bytes });
    yield* slices(contents);
    return;
  }
  const nonce = randomBytes(NONCE_BYTES);
  const header = head({
    contentType,
    bytes,
    sealed: { keyId: key.id, nonce: nonce.toString('hex') },
  });
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(aad(hash, header));
  yield header;
  for (const slice of slices(contents)) yield cipher.update(slice);
  yield cipher.final();
  yield cipher.getAuthTag();
}

/** Type and size, from the start of a file. @throws TroupeError INTERNAL when it is no such file */
export const artifactOf = (hash: string, start: Buffer): Artifact => {
  const { contentType, bytes } = readHeader(hash, start).header;
  return { hash, contentType, bytes };
};

/**
 * The contents of a whole file, opened in place: `file` is used up.
 * @throws TroupeError INTERNAL when it is damaged; UNAVAILABLE when it is sealed with another key
 */
export function unseal(
  hash: string,
  file: Buffer,
  key?: SealingKey,
): { contents: Uint8Array; artifact: Artifact } {
  const opened = readHeader(hash, file);
  const { contentType, bytes, sealed } = opened.header;
  const end = opened.start + bytes;
  if (file.length !== end + (sealed ? TAG_BYTES : 0)) throw damaged(hash);
  const contents = file.subarray(opened.start, end);
  if (sealed) decipher(hash, opened, { contents, tag: file.subarray(end) }, sealed, key);
  return { contents, artifact: { hash, contentType, bytes } };
}

function decipher(
  hash: string,
  { headerBytes }: Opened,
  { contents, tag }: { contents: Buffer; tag: Buffer },
  { keyId, nonce }: NonNullable<Header['sealed']>,
  key: SealingKey | undefined,
): void {
  if (key?.id !== keyId) throw otherKey(hash, keyId, key?.id);
  try {
    const opener = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonce, 'hex'))
      .setAAD(aad(hash, headerBytes))
      .setAuthTag(tag);
    for (const slice of slices(contents)) slice.set(opener.update(slice));
    opener.final();
  } catch (cause) {
    throw damaged(hash, cause);
  }
}

const aad = (hash: string, header: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(hash), header]);

function head(header: Header): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  return Buffer.concat([MAGIC, length, text]);
}

function readHeader(hash: string, file: Buffer): Opened {
  const textAt = MAGIC.length + LENGTH_BYTES;
  if (file.length < textAt || !file.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged(hash);
  const start = textAt + file.readUInt32BE(MAGIC.length);
  if (start > Math.min(file.length, HEADER_BYTES_MAX)) throw damaged(hash);
  const headerBytes = Buffer.from(file.subarray(0, start));
  try {
    const header = JSON.parse(headerBytes.toString('utf8', textAt)) as Header;
    return { header, headerBytes, start };
  } catch (cause) {
    throw damaged(hash, cause);
  }
}

const otherKey = (hash: string, keyId: string, ours: string | undefined) =>
  new TroupeError(
    'UNAVAILABLE',
    `the file ${hash} is sealed with the key ${keyId}, and ` +
      `${ours === undefined ? 'no key is configured' : `the configured key is ${ours}`}: ` +
      'configure that key again as a2a.artifacts.encryptionKey',
  );
