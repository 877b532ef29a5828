/**
 * Encryption for a recipient: X25519 (RFC 7748) with a key pair for each call agrees on a secret,
 * HKDF-SHA-256 (RFC 5869) derives a key, AES-256-GCM encrypts and authenticates the contents. The
 * form is that of age's X25519 stanza (C2SP age).
 *
 * ```
 * 'TRPR' | version 1 | public key of this call, 32 | ciphertext | tag, 16
 * ```
 *
 * Invariant: a derived key encrypts once, so its nonce is constant.
 */
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';

const MAGIC = Buffer.from('TRPR\u0001', 'latin1');
const KEY_BYTES = 32;
const TAG_BYTES = 16;
const NONCE = Buffer.alloc(12);
const PUBLIC = 'troupe-recipient-1:';
const PRIVATE = 'TROUPE-IDENTITY-1:';
/** RFC 8410: what precedes the 32 bytes of a key in DER. */
const SPKI = Buffer.from('302a300506032b656e032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');

export type RecipientKeys = {
  /** the private key: `TROUPE-IDENTITY-1:…` */
  readonly identity: string;
  /** the public key: `troupe-recipient-1:…` */
  readonly recipient: string;
};

export function newRecipientKeys(): RecipientKeys {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  const raw = privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(PKCS8.length);
  return {
    identity: PRIVATE + raw.toString('base64url'),
    recipient: PUBLIC + rawPublic(publicKey).toString('base64url'),
  };
}

/**
 * @param context what the contents belong to; opening requires the same text
 * @throws TroupeError INVALID_ARGUMENT when `recipient` is none
 */
export function sealForRecipient(contents: Uint8Array, recipient: string, context: string): Buffer {
  const theirs = publicKeyOf(recipient);
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  const header = Buffer.concat([MAGIC, rawPublic(publicKey)]);
  const shared = diffieHellman({ privateKey, publicKey: theirs });
  const key = derive(shared, header, rawPublic(theirs), context);
  const cipher = createCipheriv('aes-256-gcm', key, NONCE);
  return Buffer.concat([header, cipher.update(contents), cipher.final(), cipher.getAuthTag()]);
}

/**
 * @throws TroupeError INVALID_ARGUMENT when `identity` or `sealed` has another form; UNAUTHORIZED
 *   when it is sealed for another recipient, or was changed
 */
export function openWithIdentity(sealed: Uint8Array, identity: string, context: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const start = MAGIC.length + KEY_BYTES;
  if (bytes.length < start + TAG_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw invalid('this was not encrypted for a recipient by this version of troupe');
  const privateKey = privateKeyOf(identity);
  const header = bytes.subarray(0, start);
  try {
    const theirs = keyFrom(header.subarray(MAGIC.length));
    const shared = diffieHellman({ privateKey, publicKey: theirs });
    const key = derive(shared, header, rawPublic(createPublicKey(privateKey)), context);
    const tagAt = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', key, NONCE, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(tagAt));
    return Buffer.concat([decipher.update(bytes.subarray(start, tagAt)), decipher.final()]);
  } catch (cause) {
    throw new TroupeError(
      'UNAUTHORIZED',
      'the contents cannot be decrypted: they are for another recipient, or were changed',
      { cause },
    );
  }
}

const derive = (shared: Buffer, header: Buffer, recipient: Buffer, context: string): Buffer =>
  Buffer.from(
    hkdfSync('sha256', shared, Buffer.concat([header, recipient]), `troupe ${context}`, KEY_BYTES),
  );

const rawPublic = (key: KeyObject): Buffer =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI.length);

const keyFrom = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, raw]), type: 'spki', format: 'der' });

function publicKeyOf(text: string): KeyObject {
  const raw = rawOf(text, PUBLIC);
  if (raw === undefined)
    throw invalid(`"${text.slice(0, 100)}" is not a recipient: it is ${PUBLIC} and 43 characters`);
  return keyFrom(raw);
}

function privateKeyOf(text: string): KeyObject {
  const raw = rawOf(text, PRIVATE);
  if (raw === undefined)
    throw invalid(`the identity is not valid: it is ${PRIVATE} and 43 characters`);
  return createPrivateKey({ key: Buffer.concat([PKCS8, raw]), type: 'pkcs8', format: 'der' });
}

function rawOf(text: string, prefix: string): Buffer | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith(prefix)) return undefined;
  const raw = Buffer.from(trimmed.slice(prefix.length), 'base64url');
  return raw.length === KEY_BYTES ? raw : undefined;
}

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
