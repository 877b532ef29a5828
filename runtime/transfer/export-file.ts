/**
 * Export file: frames in one file that is complete or absent, with a checksum.
 *
 *   troupe-export\n · gzip of (length u32, little-endian · msgpack)… · SHA-256 of all before it
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
import { syncFolder } from '../blobs/durable-file.ts';
import { checkFrame } from './check-frame.ts';
import { type ExportHeader, FORMAT, type Frame } from './frames.ts';

const MAGIC = Buffer.from('troupe-export\n');
const HASH_BYTES = 32;
const LENGTH_BYTES = 4;
const CHUNK_BYTES = 256 * 1024;
/** No frame is longer: the largest holds one file of ARTIFACT_BYTES_MAX. */
const FRAME_BYTES_MAX = 256 * 2 ** 20;

export type WrittenFile = { readonly bytes: number; readonly sha256: string };

/**
 * Writes the frames and flushes them; only then the file receives its name.
 * @param force replace a file of this name
 * @throws TroupeError CONFLICT when there is one and `force` is not given
 */
export async function writeExportFile(
  path: string,
  frames: AsyncIterable<Frame>,
  { force = false } = {},
): Promise<WrittenFile> {
  await refuseTaken(path, force);
  const folder = dirname(path);
  const temporary = join(folder, `~${basename(path)}.${randomBytes(6).toString('hex')}`);
  const hash = createHash('sha256');
  let bytes = HASH_BYTES;
  let file: FileHandle | undefined;
  try {
    const made = await open(temporary, 'wx', 0o600);
    file = made;
    const add = async (part: Buffer): Promise<void> => {
      hash.update(part);
      bytes += part.length;
      await made.writeFile(part);
    };
    await add(MAGIC);
    await pipeline(
      Readable.from(framed(frames)),
      createGzip({ chunkSize: CHUNK_BYTES }),
      async (zipped) => {
        for await (const part of zipped) await add(part as Buffer);
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
 * INVALID_ARGUMENT when it is damaged or of a newer format; NOT_FOUND
 */
export async function checkExportFile(
  path: string,
): Promise<WrittenFile & { readonly header: ExportHeader }> {
  const bytes = await sizeOf(path);
  const hash = createHash('sha256');
  const end = bytes - HASH_BYTES;
  if (end <= MAGIC.length) throw foreign(path);
  let first: Buffer | undefined;
  let kept = Buffer.alloc(0);
  for await (const part of reading(path, 0, bytes)) {
    first ??= part;
    const whole = Buffer.concat([kept, part]);
    kept = whole.subarray(-HASH_BYTES);
    hash.update(whole.subarray(0, -HASH_BYTES));
  }
  if (!first?.subarray(0, MAGIC.length).equals(MAGIC)) throw foreign(path);
  const digest = hash.digest();
  if (!digest.equals(kept))
    throw damaged(path, 'its checksum is wrong: it is cut short, or changed');
  for await (const frame of readExportFile(path)) {
    if (frame[0] !== 'header') break;
    checkFormat(path, frame[1]);
    return { bytes, sha256: digest.toString('hex'), header: frame[1] };
  }
  throw damaged(path, 'it has no header');
}

/**
 * The frames of a file that was checked, up to and with its end.
 * @throws TroupeError INVALID_ARGUMENT when the file has changed since the check
 */
export async function* readExportFile(path: string): AsyncGenerator<Frame> {
  const end = (await sizeOf(path)) - HASH_BYTES;
  const input = reading(path, MAGIC.length, end);
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // A failure is thrown to the reader below; a reader that stops early is not a failure.
  const piped = pipeline(input, unzip).catch(() => {});
  let last: Frame | undefined;
  try {
    for await (const bytes of pieces(unzip)) {
      const frame: unknown = decode(bytes);
      checkFrame(frame);
      last = frame;
      yield frame;
    }
  } catch (error) {
    throw damaged(path, errorData(error).message, error);
  } finally {
    unzip.destroy();
    await piped;
  }
  if (last?.[0] !== 'end') throw damaged(path, 'it has no end');
}

async function* framed(frames: AsyncIterable<Frame>): AsyncGenerator<Buffer> {
  for await (const frame of frames) {
    const bytes = encode(frame);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(bytes.length);
    yield length;
    yield bytes;
  }
}

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

async function sizeOf(path: string): Promise<number> {
  try {
    const there = await stat(path);
    if (there.isFile()) return there.size;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new TroupeError('NOT_FOUND', `there is no file ${path}`, { cause });
    throw unusable('read', path, cause);
  }
  throw new TroupeError('INVALID_ARGUMENT', `${path} is not an export file`);
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

function checkFormat(path: string, { format, program }: ExportHeader): void {
  if (format <= FORMAT) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} has format ${format}, written by troupe ${program}; this program reads up to ${FORMAT}. ` +
      'Use the newer program.',
  );
}

const foreign = (path: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${path} was not written by troupe export`);

const damaged = (path: string, why: string, cause?: unknown): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${path} is damaged: ${why}. Export again.`, { cause });

const unusable = (done: string, path: string, cause: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', `${path} cannot be ${done}: ${errorData(cause).message}`, {
    cause,
  });
