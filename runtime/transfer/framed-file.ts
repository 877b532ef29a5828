/**
 * Framed file: the container of exports and backups. Frames in one file that is complete or absent,
 * with a checksum, and encrypted if wanted.
 *
 *   plain troupe-export\n · gzip of (length u32, little-endian · msgpack)… · SHA-256 of all before
 *   it sealed troupe-sealed\n · length u32 · envelope · the same gzip, encrypted · SHA-256 of all
 *   before it
 *
 * Written and read as a stream: one frame is in memory at a time. A file holds conversations and
 * keys of clients, so only its owner may read it (0600).
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { decode, encode } from '../../protocols/codec.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { syncFolder, TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { isSealed, newFileKey, openFileKey, type OpenWith, type SealFor } from './envelope.ts';
import { openStream, sealStream } from './sealed-stream.ts';

const PLAIN = Buffer.from('troupe-export\n');
const SEALED = Buffer.from('troupe-sealed\n');
const MAGIC_BYTES = PLAIN.length;
const HASH_BYTES = 32;
const LENGTH_BYTES = 4;
const CHUNK_BYTES = 256 * 1024;
const ENVELOPE_BYTES_MAX = 64 * 1024;
/** No frame is longer: the largest holds one file of ARTIFACT_BYTES_MAX. */
const FRAME_BYTES_MAX = 256 * 2 ** 20;

export type WrittenFile = { readonly bytes: number; readonly sha256: string };

/** What a file is, in errors. */
export type FileWords = {
  /** the command that writes such files */
  readonly writer: string;
  /** what to do about a damaged one, as a sentence */
  readonly remedy: string;
};

export type WriteOptions = {
  /** replaces a file of this name; default false */
  readonly force?: boolean;
  /** default: none, so the file is not encrypted */
  readonly seal?: SealFor;
  /** of gzip; default 6 */
  readonly level?: number;
};

/**
 * Writes the frames and flushes them; only then the file receives its name.
 * @throws TroupeError CONFLICT when there is one and `force` is not given
 */
export async function writeFramedFile(
  path: string,
  frames: AsyncIterable<unknown>,
  { force = false, seal = {}, level = 6 }: WriteOptions = {},
): Promise<WrittenFile> {
  await refuseTaken(path, force);
  const folder = dirname(path);
  const draft = `${TEMPORARY_PREFIX}${basename(path)}.${randomBytes(6).toString('hex')}`;
  const temporary = join(folder, draft);
  const hash = createHash('sha256');
  let bytes = HASH_BYTES;
  let file: FileHandle | undefined;
  try {
    const fileKey = isSealed(seal) ? await newFileKey(seal) : undefined;
    const made = await open(temporary, 'wx', 0o600);
    file = made;
    const add = async (part: Uint8Array): Promise<void> => {
      hash.update(part);
      bytes += part.length;
      await made.writeFile(part);
    };
    await add(fileKey ? SEALED : PLAIN);
    if (fileKey) {
      await add(lengthOf(fileKey.envelope));
      await add(fileKey.envelope);
    }
    await pipeline(
      Readable.from(framed(frames)),
      createGzip({ chunkSize: CHUNK_BYTES, level }),
      async (zipped: AsyncIterable<Buffer>) => {
        const parts = fileKey ? sealStream(zipped, fileKey.key, fileKey.about) : zipped;
        for await (const part of parts) await add(part);
      },
    );
    const digest = hash.digest();
    await file.writeFile(digest);
    await file.sync();
    await file.close();
    await refuseTaken(path, force);
    await rename(temporary, path);
    await syncFolder(folder);
    return { bytes, sha256: digest.toString('hex') };
  } catch (error) {
    await file?.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error instanceof TroupeError ? error : unusable('written', path, error);
  }
}

/**
 * Reads the whole file to verify its checksum before it is used. @throws TroupeError
 * INVALID_ARGUMENT when it is damaged; NOT_FOUND
 */
export async function checkFramedFile(
  path: string,
  words: FileWords,
): Promise<WrittenFile & { readonly sealed: boolean }> {
  const bytes = await sizeOf(path, words);
  const hash = createHash('sha256');
  const end = bytes - HASH_BYTES;
  if (end <= MAGIC_BYTES) throw foreign(path, words);
  let first: Buffer | undefined;
  let kept = Buffer.alloc(0);
  for await (const part of reading(path, 0, bytes)) {
    first ??= part;
    const whole = Buffer.concat([kept, part]);
    kept = whole.subarray(-HASH_BYTES);
    hash.update(whole.subarray(0, -HASH_BYTES));
  }
  const magic = first?.subarray(0, MAGIC_BYTES) ?? Buffer.alloc(0);
  if (!magic.equals(PLAIN) && !magic.equals(SEALED)) throw foreign(path, words);
  const digest = hash.digest();
  if (!digest.equals(kept))
    throw damaged(path, words, 'its checksum is wrong: it is cut short, or changed');
  return { bytes, sha256: digest.toString('hex'), sealed: magic.equals(SEALED) };
}

/**
 * The frames of a file that was checked, in order.
 * @throws TroupeError INVALID_ARGUMENT when the file has changed since the check; UNAUTHORIZED when
 *   it is sealed and `openWith` does not open it
 */
export async function* readFramedFile(
  path: string,
  words: FileWords,
  openWith: OpenWith = {},
): AsyncGenerator {
  const end = (await sizeOf(path, words)) - HASH_BYTES;
  const { start, unseal } = await bodyOf(path, end, openWith);
  const input = reading(path, start, end);
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // A failure is thrown to the reader below; a reader that stops early is not a failure.
  const piped = pipeline(input, unseal, unzip).catch(() => {});
  try {
    for await (const bytes of pieces(unzip)) yield decode<unknown>(bytes);
  } catch (error) {
    throw error instanceof TroupeError && error.code !== 'INTERNAL'
      ? error
      : damaged(path, words, errorData(error).message, error);
  } finally {
    unzip.destroy();
    await piped;
  }
}

type Body = {
  readonly start: number;
  readonly unseal: (parts: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
};

async function bodyOf(path: string, end: number, openWith: OpenWith): Promise<Body> {
  const limit = MAGIC_BYTES + LENGTH_BYTES + ENVELOPE_BYTES_MAX;
  const first: Buffer[] = [];
  for await (const part of reading(path, 0, Math.min(end, limit))) first.push(part);
  const head = Buffer.concat(first);
  if (!head.subarray(0, MAGIC_BYTES).equals(SEALED))
    return { start: MAGIC_BYTES, unseal: (plain) => plain };
  const from = MAGIC_BYTES + LENGTH_BYTES;
  const start = from + head.readUInt32LE(MAGIC_BYTES);
  const { key, about } = await openFileKey(path, head.subarray(from, start), openWith);
  return { start, unseal: (parts) => openStream(parts, key, about) };
}

async function* framed(frames: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const frame of frames) {
    const bytes = encode(frame);
    yield lengthOf(bytes);
    yield bytes;
  }
}

const lengthOf = (bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(bytes.length);
  return length;
};

/** Splits the stream into frames by their lengths. */
async function* pieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = LENGTH_BYTES;
  let isLength = true;
  for await (const part of stream) {
    parts.push(part);
    size += part.length;
    while (size >= wanted) {
      const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      const piece = all.subarray(0, wanted);
      parts = [all.subarray(wanted)];
      size -= wanted;
      if (!isLength) yield piece;
      wanted = isLength ? piece.readUInt32LE() : LENGTH_BYTES;
      if (wanted > FRAME_BYTES_MAX) throw new Error(`it has a frame of ${wanted} bytes`);
      isLength = !isLength;
    }
  }
  if (size > 0 || !isLength) throw new Error('it ends within a frame');
}

const reading = (path: string, start: number, end: number) =>
  createReadStream(path, {
    start,
    end: end - 1,
    highWaterMark: CHUNK_BYTES,
  }) as AsyncIterable<Buffer> & Readable;

async function sizeOf(path: string, { writer }: FileWords): Promise<number> {
  try {
    const there = await stat(path);
    if (there.isFile()) return there.size;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new TroupeError('NOT_FOUND', `there is no file ${path}`, { cause });
    throw unusable('read', path, cause);
  }
  throw new TroupeError('INVALID_ARGUMENT', `${path} is not a file of ${writer}`);
}

async function refuseTaken(path: string, force: boolean): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there && !there.isFile())
    throw new TroupeError('INVALID_ARGUMENT', `${path} is not a regular file: choose another one`);
  if (force || !there) return;
  throw new TroupeError(
    'CONFLICT',
    `${path} exists already: name another file, or give --force to replace it`,
  );
}

const foreign = (path: string, { writer }: FileWords): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${path} was not written by ${writer}`);

export const damaged = (
  path: string,
  { remedy }: FileWords,
  why: string,
  cause?: unknown,
): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${path} is damaged: ${why}. ${remedy}`, { cause });

const unusable = (done: string, path: string, cause: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', `${path} cannot be ${done}: ${errorData(cause).message}`, {
    cause,
  });
