/**
 * Encryption with a passphrase: scrypt (RFC 7914) derives a key, AES-256-GCM (NIST SP 800-38D)
 * encrypts and authenticates the contents.
 *
 * ```
 * 'TRPP' | version 1 | log2 N | r | p, one byte each | salt, 16 | nonce, 12 | ciphertext | tag, 16
 * ```
 *
 * Invariants:
 *  1. The header and the caller's associated data are authenticated with the contents.
 *  2. The cost read from a header is bounded before scrypt runs: a crafted file can neither exhaust
 *     memory nor choose a cheap derivation.
 *  3. Salt and nonce are random for each call, so that no key is used twice.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';

const MAGIC = Buffer.from('TRPP\u0001', 'latin1');
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const COST_AT = MAGIC.length;
const SALT_AT = COST_AT + 3;
const NONCE_AT = SALT_AT + SALT_BYTES;
const HEADER_BYTES = NONCE_AT + NONCE_BYTES;

/** Cost parameters of scrypt; N is 2 to the power of `log2N`. */
type Cost = { readonly log2N: number; readonly r: number; readonly p: number };
/** 128 MiB and about half a second (OWASP's recommendation). */
const COST: Cost = { log2N: 17, r: 8, p: 1 };
const LOG2_N_MIN = 14;
/**
 * 16 MiB and a twentieth of a second, for what was not chosen by a person: 256 random bits cannot
 * be guessed, however fast a guess is, and each process that joins a cluster pays for the
 * derivation.
 */
const COST_OF_RANDOM: Cost = { ...COST, log2N: LOG2_N_MIN };
/** As `openssl rand -hex 32` prints them. */
const RANDOM = /^[0-9a-f]{64,}$/i;
/** Less than one in 10^11 of such texts has fewer different digits. */
const RANDOM_DIGITS_MIN = 10;
const P_MAX = 4;
/** scrypt needs 128 * N * r bytes. */
const MEMORY_MAX = 256 * 1_024 * 1_024;

export const PASSPHRASE_CHARS_MIN = 12;

/**
 * @param context what the contents belong to; opening requires the same text
 * @throws TroupeError INVALID_ARGUMENT when the passphrase is too short
 */
export async function sealWithPassphrase(
  contents: Uint8Array,
  passphrase: string,
  context: string,
): Promise<Buffer> {
  if (passphrase.length < PASSPHRASE_CHARS_MIN)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the passphrase is too short: it needs at least ${PASSPHRASE_CHARS_MIN} characters`,
    );
  const cost = isRandom(passphrase) ? COST_OF_RANDOM : COST;
  const { log2N, r, p } = cost;
  const random = randomBytes(SALT_BYTES + NONCE_BYTES);
  const header = Buffer.concat([MAGIC, Buffer.from([log2N, r, p]), random]);
  const key = await deriveKey(passphrase, header, cost);
  const cipher = createCipheriv('aes-256-gcm', key, header.subarray(NONCE_AT));
  cipher.setAAD(associatedData(header, context));
  return Buffer.concat([header, cipher.update(contents), cipher.final(), cipher.getAuthTag()]);
}

/**
 * @throws TroupeError INVALID_ARGUMENT when `sealed` is not in this format; UNAUTHORIZED when the
 *   passphrase or the context is another one, or the contents were changed
 */
export async function openWithPassphrase(
  sealed: Uint8Array,
  passphrase: string,
  context: string,
): Promise<Buffer> {
  const file = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const header = file.subarray(0, HEADER_BYTES);
  const cost = readCost(file);
  const key = await deriveKey(passphrase, header, cost);
  const tagAt = file.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, header.subarray(NONCE_AT), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(associatedData(header, context)).setAuthTag(file.subarray(tagAt));
    const contents = decipher.update(file.subarray(HEADER_BYTES, tagAt));
    return Buffer.concat([contents, decipher.final()]);
  } catch (cause) {
    throw new TroupeError(
      'UNAUTHORIZED',
      'the contents cannot be decrypted: the passphrase is wrong, or they were changed',
      { cause },
    );
  }
}

const isRandom = (passphrase: string): boolean =>
  RANDOM.test(passphrase) && new Set(passphrase.toLowerCase()).size >= RANDOM_DIGITS_MIN;

function readCost(file: Buffer): Cost {
  const known = file.subarray(0, MAGIC.length).equals(MAGIC);
  if (!known || file.length < HEADER_BYTES + TAG_BYTES)
    throw invalid('this was not encrypted with a passphrase by this version of troupe');
  const [log2N = 0, r = 0, p = 0] = file.subarray(COST_AT, SALT_AT);
  const memory = 128 * 2 ** log2N * r;
  if (log2N < LOG2_N_MIN || r < COST.r || p < 1 || p > P_MAX || memory > MEMORY_MAX)
    throw invalid(`the scrypt parameters N=2^${log2N}, r=${r}, p=${p} are out of bounds`);
  return { log2N, r, p };
}

const deriveKey = (passphrase: string, header: Buffer, { log2N, r, p }: Cost): Promise<Buffer> => {
  const salt = header.subarray(SALT_AT, NONCE_AT);
  // scrypt also allocates p * 128 * r bytes and some more in addition to its table.
  const cost = { N: 2 ** log2N, r, p, maxmem: 2 * MEMORY_MAX };
  return new Promise((resolve, reject) => {
    // One passphrase, however a keyboard composes its characters.
    scrypt(passphrase.normalize('NFKC'), salt, KEY_BYTES, cost, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
};

const associatedData = (header: Buffer, context: string): Buffer =>
  Buffer.concat([header, Buffer.from(context)]);

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
