/**
 * Checks that every bucket makes: of a file before it is accepted, and of a name before it is
 * looked up. No I/O.
 */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { type Artifact, ARTIFACT_BYTES_MAX, ARTIFACT_URL_MS_MAX } from './artifacts.ts';

const TENANT = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const HASH = /^[0-9a-f]{64}$/;
const MIME = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;
/**
 * Number of bytes that are hashed or sealed at once, so that a large file does not block the
 * process.
 */
const SLICE_BYTES = 2 ** 20;

/** Views of the contents, none larger than a slice. */
export function* slices(contents: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < contents.length; at += SLICE_BYTES)
    yield contents.subarray(at, at + SLICE_BYTES);
}

/** SHA-256 as lower-case hex: a file's name. Other work runs between slices. */
export async function hashOf(contents: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (const slice of slices(contents)) {
    hash.update(slice);
    if (contents.length > SLICE_BYTES) await turn();
  }
  return hash.digest('hex');
}

/** The type without its parameters, in small letters; undefined when the text is none. */
const mimeOf = (contentType: string): string | undefined => {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  return MIME.test(type) ? type : undefined;
};

/** Whether a whitelist, whose entries may end in `/*`, has the type. */
const allows = (whitelist: readonly string[], type: string): boolean =>
  whitelist.some((entry) =>
    entry.endsWith('/*') ? entry === '*/*' || type.startsWith(entry.slice(0, -1)) : entry === type,
  );

/**
 * The name of the contents, if they may be stored.
 * @throws TroupeError INVALID_ARGUMENT, PAYLOAD_TOO_LARGE
 */
export async function nameContents(
  tenant: string,
  contents: Uint8Array,
  options: { contentType: string; expectedHash?: string },
  mimeTypes: readonly string[],
): Promise<Artifact> {
  if (!TENANT.test(tenant)) throw refused(`${JSON.stringify(tenant)} is not a tenant name`);
  const contentType = mimeOf(options.contentType);
  if (contentType === undefined || !allows(mimeTypes, contentType)) {
    throw refused(
      `files of the type ${JSON.stringify(options.contentType.slice(0, 100))} are not accepted: ` +
        `send one of ${mimeTypes.join(', ')}`,
    );
  }
  checkBytes(contents.length);
  const hash = await hashOf(contents);
  const { expectedHash = hash } = options;
  if (expectedHash.toLowerCase() !== hash) {
    throw refused(
      `the received file has the SHA-256 ${hash}, the expected one is ${expectedHash.slice(0, 100)}: ` +
        'send it again',
    );
  }
  return { hash, contentType, bytes: contents.length };
}

/** @throws TroupeError PAYLOAD_TOO_LARGE */
export function checkBytes(bytes: number): void {
  if (bytes <= ARTIFACT_BYTES_MAX) return;
  throw new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the file has ${bytes} bytes, at most ${ARTIFACT_BYTES_MAX} are allowed: send it in parts`,
  );
}

/** @throws TroupeError NOT_FOUND for a text that cannot be the name of a file */
export function checkName(tenant: string, hash: string): void {
  if (!TENANT.test(tenant) || !HASH.test(hash)) throw absent(tenant, hash);
}

/** @throws TroupeError INVALID_ARGUMENT */
export function urlMs(forMs: number = ARTIFACT_URL_MS_MAX): number {
  if (forMs >= 1_000 && forMs <= ARTIFACT_URL_MS_MAX) return forMs;
  throw refused(
    `a signed URL is valid for 1,000 to ${ARTIFACT_URL_MS_MAX} milliseconds, not for ${forMs}`,
  );
}

/** @throws TroupeError INTERNAL when the contents do not match their name */
export async function checkContents(hash: string, contents: Uint8Array): Promise<void> {
  if ((await hashOf(contents)) !== hash) throw damaged(hash);
}

const refused = (message: string) => new TroupeError('INVALID_ARGUMENT', message);

export const absent = (tenant: string, hash: string) =>
  new TroupeError(
    'NOT_FOUND',
    `the tenant ${tenant.slice(0, 63)} has no file ${hash.slice(0, 64)}: store it first`,
  );

export const damaged = (hash: string, cause?: unknown) =>
  new TroupeError(
    'INTERNAL',
    `the stored file ${hash} does not match its hash: it was damaged or changed in the store; ` +
      'restore it from a backup, or store it again',
    { cause },
  );

export const foreign = (why: string) =>
  new TroupeError('FORBIDDEN', `this is not a signed URL of this tenant's bucket: ${why}`);

/**
 * @param hash the file that the URL names, and until when it was good: its signature was good, so
 * that a reader that accepted it in time may still read the file
 */
export const expired = (hash: string, expiredAtMs: number) =>
  new TroupeError(
    'EXPIRED',
    `the signed URL expired at ${new Date(expiredAtMs).toISOString()}: request a new one`,
    { details: { hash, expiredAtMs } },
  );
