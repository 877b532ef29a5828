/**
 * Objects: the contents of files, each stored once under a name that follows from its bytes. So a
 * file that did not change costs a later backup nothing.
 *
 * Plain objects are named by their SHA-256. Encrypted ones have a key and a name that follow from
 * the SHA-256 and a secret of the installation: the same contents are the same object, and a reader
 * of the folder can neither open it nor test whether it is a file that he knows. The key is in the
 * encrypted part of each backup that refers to the object.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder, TEMPORARY_PREFIX } from '../blobs/durable-file.ts';
import { makeFolder } from '../make-folder.ts';
import { openStream, sealStream } from '../transfer/sealed-stream.ts';
import { type ObjectRef, PAGE_BYTES } from './frames.ts';

export const OBJECTS_FOLDER = 'objects';
const ATTEMPTS_MAX = 5;
const NOTHING = Buffer.alloc(0);

export const objectFile = (folder: string, name: string): string =>
  join(folder, OBJECTS_FOLDER, name.slice(0, 2), name);

export const readingFile = (path: string): AsyncIterable<Buffer> =>
  createReadStream(path, { highWaterMark: PAGE_BYTES }) as AsyncIterable<Buffer>;

export class ObjectWriter {
  readonly #folder: string;
  readonly #secret: Uint8Array | undefined;
  readonly #elsewhere: ReadonlySet<string>;
  /** of all objects that were referred to */
  readonly names = new Set<string>();
  /** contents that were not stored before */
  newObjects = 0;
  newBytes = 0;

  /**
   * @param secret encrypts; 32 bytes
   * @param elsewhere names of objects that are stored in another place, and are not written
   */
  constructor(folder: string, secret?: Uint8Array, elsewhere: ReadonlySet<string> = new Set()) {
    this.#folder = folder;
    this.#secret = secret;
    this.#elsewhere = elsewhere;
  }

  /**
   * Stores the contents of a file, or bytes, unless they are stored.
   * @returns undefined when the file does not stop to change, for example a log
   * @throws the error of the operating system
   */
  async put(from: string | Uint8Array): Promise<ObjectRef | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const { sha256, bytes } = await hashOf(from);
      const ref = this.#refTo(sha256, bytes);
      this.names.add(ref.name);
      if (this.#elsewhere.has(ref.name)) return ref;
      if (await isStored(objectFile(this.#folder, ref.name), ref)) return ref;
      if (await this.#store(from, ref)) return ref;
      this.names.delete(ref.name);
    }
    return undefined;
  }

  /** The object with contents of this hash, if it is stored; it is referred to then. */
  async find(sha256: string, bytes: number): Promise<ObjectRef | undefined> {
    const ref = this.#refTo(sha256, bytes);
    const isThere =
      this.#elsewhere.has(ref.name) || (await isStored(objectFile(this.#folder, ref.name), ref));
    if (!isThere) return undefined;
    this.names.add(ref.name);
    return ref;
  }

  #refTo(sha256: string, bytes: number): ObjectRef {
    if (this.#secret === undefined) return { name: sha256, bytes, sha256 };
    const derived = (what: string) =>
      createHmac('sha256', this.#secret!).update(`${what} ${sha256}`).digest();
    return { name: derived('name').toString('hex'), bytes, sha256, key: derived('key') };
  }

  /** @returns false when the file has changed since it was hashed */
  async #store(
    from: string | Uint8Array,
    { name, sha256, bytes, key }: ObjectRef,
  ): Promise<boolean> {
    const target = objectFile(this.#folder, name);
    const folder = join(target, '..');
    makeFolder(folder);
    const draft = join(folder, `${TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}`);
    const hash = createHash('sha256');
    const contents = hashing(reading(from), hash);
    const file = await open(draft, 'wx', 0o600);
    try {
      for await (const part of key ? sealStream(contents, key, NOTHING) : contents)
        await file.writeFile(part);
      await file.sync();
      if (hash.digest('hex') !== sha256) return false;
      await rename(draft, target);
    } finally {
      await file.close();
      await rm(draft, { force: true });
    }
    await syncFolder(folder);
    this.newObjects++;
    this.newBytes += bytes;
    return true;
  }
}

/** The contents of an object. @throws TroupeError INVALID_ARGUMENT when it is missing or damaged */
export async function* readObject(folder: string, ref: ObjectRef): AsyncGenerator<Uint8Array> {
  const path = objectFile(folder, ref.name);
  if (!existsSync(path)) throw damagedObject(ref, 'is missing');
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    const stored = readingFile(path);
    for await (const part of ref.key ? openStream(stored, ref.key, NOTHING) : stored) {
      hash.update(part);
      bytes += part.length;
      yield part;
    }
  } catch (cause) {
    throw damagedObject(ref, 'is damaged', cause);
  }
  if (bytes !== ref.bytes || hash.digest('hex') !== ref.sha256)
    throw damagedObject(ref, 'is damaged: its hash is wrong');
}

const damagedObject = ({ name }: ObjectRef, what: string, cause?: unknown): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `the backup is damaged: its object ${name} ${what}. Nothing was restored. Other backups may ` +
      'refer to it, too. If the original file still exists, remove the object and create a backup',
    { cause },
  );

/** An object with another size is what a failing disk left: it is written again. */
async function isStored(path: string, { key, bytes }: ObjectRef): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && (key !== undefined || found.size === bytes);
}

const reading = (from: string | Uint8Array): AsyncIterable<Uint8Array> | Iterable<Uint8Array> =>
  typeof from === 'string' ? readingFile(from) : [from];

async function hashOf(from: string | Uint8Array): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of hashing(reading(from), hash)) bytes += part.length;
  return { sha256: hash.digest('hex'), bytes };
}

async function* hashing(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    hash.update(part);
    yield part;
  }
}
