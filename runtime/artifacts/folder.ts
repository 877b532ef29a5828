/**
 * FolderArtifacts: a bucket as a folder of this machine or of a shared volume, for any number of
 * processes. A file is `{tenant}/{first two digits}/{hash}` in the format of sealed-file.ts;
 * `incoming` holds files that are being written.
 *
 * Invariants:
 *  1. A file has its name only when it is complete and durable.
 *  2. URLs permit no writing and no listing (signed-urls.ts).
 */
import { open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder, writeFileDurably } from '../blobs/durable-file.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { Artifact, Artifacts, UnusedArtifacts } from './artifacts.ts';
import { absent, checkContents, checkName, nameContents } from './checks.ts';
import {
  artifactOf,
  HEADER_BYTES_MAX,
  type SealingKey,
  sealedParts,
  sealingKey,
  unseal,
} from './sealed-file.ts';
import { fileOf, FolderRoom, isTaken } from './folder-room.ts';
import { SignedUrls } from './signed-urls.ts';
import { keepSigningKey } from './signing-key.ts';
import { makeFolder } from '../make-folder.ts';

export type FolderArtifactsOptions = {
  readonly path: string;
  /** base of URLs, without a trailing slash; read again for every URL */
  readonly publicUrl: () => string;
  /** accepted media types; `image/*` matches all images */
  readonly mimeTypes: readonly string[];
  /** 32 bytes as hex or base64; left out: files are stored as they are */
  readonly encryptionKey?: string;
  /** bytes of one tenant's files, read again for each file; default 10 GiB */
  readonly bytesMax?: () => number;
  readonly clock?: Clock;
};

/** Incomplete files of this age are removed at the next start. */
const LEFT_OVER_MS = 86_400_000;
const INCOMING = 'incoming';
const BYTES_MAX = 10 * 2 ** 30;

/**
 * Creates the folder if it is absent.
 * @throws TroupeError UNAVAILABLE when it cannot be used; INVALID_ARGUMENT for a bad key
 */
export async function openFolderArtifacts(options: FolderArtifactsOptions): Promise<Artifacts> {
  const key = options.encryptionKey === undefined ? undefined : sealingKey(options.encryptionKey);
  const { path } = options;
  return readable(path, async () => {
    await makeDurableFolder(join(path, INCOMING));
    await clearIncoming(join(path, INCOMING), options.clock ?? systemClock);
    return new FolderArtifacts(options, await keepSigningKey(path), key);
  });
}

class FolderArtifacts implements Artifacts {
  readonly #path: string;
  readonly #options: FolderArtifactsOptions;
  readonly #clock: Clock;
  readonly #urls: SignedUrls;
  readonly #sealingKey: SealingKey | undefined;
  readonly #room: FolderRoom;
  readonly unused: UnusedArtifacts;

  constructor(options: FolderArtifactsOptions, signingKey: Buffer, key?: SealingKey) {
    this.#path = options.path;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#sealingKey = key;
    const { bytesMax = () => BYTES_MAX } = options;
    const aside = join(this.#path, INCOMING);
    const clock = this.#clock;
    this.#urls = new SignedUrls({ key: signingKey, publicUrl: options.publicUrl, clock });
    this.#room = new FolderRoom({ path: this.#path, aside, bytesMax, clock });
    this.unused = this.#room;
  }

  async put(
    tenant: string,
    contents: Uint8Array,
    options: { contentType: string; expectedHash?: string },
  ): Promise<Artifact> {
    const artifact = await nameContents(tenant, contents, options, this.#options.mimeTypes);
    // An existing intact file is kept with its first type; a damaged one is replaced.
    const stored = await this.get(tenant, artifact.hash).catch(() => undefined);
    if (stored && (await this.#touch(tenant, artifact.hash))) return stored.artifact;
    const file = this.#file(tenant, artifact.hash);
    await this.#room.storing(tenant, contents.length, () =>
      readable(file, async () => {
        await makeDurableFolder(dirname(file));
        const parts = sealedParts(artifact, contents, this.#sealingKey);
        await writeFileDurably(file, parts, join(this.#path, INCOMING));
      }),
    );
    return artifact;
  }

  /** Extends the retention of the file; false if the file was removed. */
  async #touch(tenant: string, hash: string): Promise<boolean> {
    const file = this.#file(tenant, hash);
    const now = new Date(this.#clock.wallMs());
    const missing = absent(tenant, hash);
    try {
      await readable(file, () => utimes(file, now, now), missing);
      return true;
    } catch (error) {
      if (error === missing) return false;
      throw error;
    }
  }

  async get(tenant: string, hash: string): Promise<{ contents: Uint8Array; artifact: Artifact }> {
    checkName(tenant, hash);
    const file = this.#file(tenant, hash);
    const bytes = await readable(file, () => readFile(file), absent(tenant, hash));
    const opened = unseal(hash, bytes, this.#sealingKey);
    await checkContents(hash, opened.contents);
    return opened;
  }

  async sign(tenant: string, hash: string, { forMs }: { forMs?: number } = {}) {
    checkName(tenant, hash);
    const untilSec = this.#urls.untilSec(forMs);
    const artifact = await this.#artifact(tenant, hash);
    if (!(await this.#touch(tenant, hash))) throw absent(tenant, hash);
    return this.#urls.sign(tenant, artifact, untilSec);
  }

  async remove(tenant: string, hash: string): Promise<void> {
    checkName(tenant, hash);
    const file = this.#file(tenant, hash);
    await readable(file, () => rm(file, { force: true }));
  }

  resolve(tenant: string, uri: string): Promise<string> {
    return this.#urls.resolve(tenant, uri);
  }

  /** The type and size of a stored file, without reading all of it. */
  #artifact(tenant: string, hash: string): Promise<Artifact> {
    const path = this.#file(tenant, hash);
    const read = async () => {
      const file = await open(path, 'r');
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES_MAX));
        return artifactOf(hash, buffer.subarray(0, bytesRead));
      } finally {
        await file.close();
      }
    };
    return readable(path, read, absent(tenant, hash));
  }

  #file(tenant: string, hash: string): string {
    return fileOf(this.#path, tenant, hash);
  }
}

/** Also makes the folder's own name durable, in every parent folder that was just created. */
async function makeDurableFolder(folder: string): Promise<void> {
  const first = makeFolder(folder);
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made))
    await syncFolder(dirname(made));
}

async function clearIncoming(folder: string, clock: Clock): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (isTaken(name)) continue;
    if (found && clock.wallMs() - found.mtimeMs > LEFT_OVER_MS) await rm(file, { force: true });
  }
}

/** Errors of the file system as those of the taxonomy; `missing` for a file that is not there. */
async function readable<T>(path: string, use: () => Promise<T>, missing?: TroupeError): Promise<T> {
  try {
    return await use();
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    if (missing && (code === 'ENOENT' || code === 'ENOTDIR')) throw missing;
    throw new TroupeError(
      'UNAVAILABLE',
      `the artifacts' folder cannot be used at ${path} (${code}): check its permissions and the free space`,
      { cause },
    );
  }
}
