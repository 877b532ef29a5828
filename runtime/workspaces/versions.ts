/**
 * Versions: the saved versions of one actor's workspace in Blobs, their fence, and the removal of
 * what no version needs.
 *
 *   ws/{cell}/m/{actor}/{version}                   manifest; version: 12 digits
 *   ws/{cell}/f/{actor}/{version}-{opener}/{hash}   chunk of a file, uploaded for that version
 *
 * Fence. A name is written once, so of two openers of version v one stores v+1 and the other gets
 * CONFLICT. Removing old manifests frees their names, so an opener that was suspended for long
 * could store v+1 far below the head. The head itself is never removed and never decreases. So
 * after storing, the opener lists the names: if there is none above v+1, its version is the head;
 * otherwise v+2 must name this opener as its parent. No clock is involved.
 *
 * Sweep. A chunk's name contains the version and the opener for which it was uploaded. When the
 * head has reached that version, the winner of that version is known. A manifest names only chunks
 * of its parent and chunks uploaded for itself. So every later version names a subset of the head's
 * chunks and of chunks uploaded for versions above the head. Therefore a chunk for a version <=
 * head that the head does not name is never named again. It may be removed at any time, even by a
 * sweeper that was suspended since it read the head. Chunks of the kept older manifests stay, too.
 * The cost: no bytes are shared between actors, or with an older version that no longer has them.
 */
import { createHash } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Address } from '../../protocols/address.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import { blobToken, folderNameOf } from './name.ts';

const VERSION_DIGITS = 12;
const padded = (version: number): string => String(version).padStart(VERSION_DIGITS, '0');

/** SHA-256 as hex. */
export const hashOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The hash at the end of a chunk's name. */
export const hashIn = (chunk: string): string => chunk.slice(chunk.indexOf('/') + 1);

export class Versions {
  readonly #blobs: Blobs;
  readonly #cell: string;
  readonly #actor: Address;
  readonly #manifests: string;
  readonly #chunks: string;

  constructor(blobs: Blobs, cell: string, actor: Address) {
    this.#blobs = blobs;
    this.#cell = cell;
    this.#actor = actor;
    const [root, name] = [`ws/${blobToken(cell)}`, folderNameOf(actor)];
    this.#manifests = `${root}/m/${name}/`;
    this.#chunks = `${root}/f/${name}/`;
  }

  /** The number of the newest version; 0 when nothing was ever saved. */
  async head(): Promise<number> {
    return (await this.#list()).at(-1) ?? 0;
  }

  /** undefined when there is no such version, or no longer. @throws TroupeError UNAVAILABLE */
  async read(version: number): Promise<Manifest | undefined> {
    const bytes = await this.#blobs.get(this.#manifests + padded(version));
    const expected = { cell: this.#cell, actor: this.#actor, version };
    return bytes && decodeManifest(bytes, expected);
  }

  /** Names a chunk as manifests do: `{version}-{opener}/{hash}`. */
  chunkOf(version: number, opener: string, hash: string): string {
    return `${padded(version)}-${opener}/${hash}`;
  }

  putChunk(chunk: string, bytes: Uint8Array): Promise<void> {
    return this.#blobs.put(this.#chunks + chunk, bytes);
  }

  /** undefined when it does not exist. @throws TroupeError UNAVAILABLE when its hash is wrong */
  async getChunk(chunk: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#blobs.get(this.#chunks + chunk);
    if (bytes === undefined || hashOf(bytes) === hashIn(chunk)) return bytes;
    throw new TroupeError(
      'UNAVAILABLE',
      `a file in the workspace of ${this.#actor} is damaged in the store: ${chunk} has unexpected bytes`,
      { details: { reason: 'CORRUPT' } },
    );
  }

  /**
   * Stores the version after its parent. Returns the stored manifest: not the given one when an
   * earlier attempt of the same opener, whose answer was lost, had been stored.
   *
   * @throws TroupeError CONFLICT when another opener has that version
   */
  async commit(manifest: Manifest): Promise<Manifest> {
    const name = this.#manifests + padded(manifest.version);
    let stored = manifest;
    try {
      await this.#blobs.put(name, encodeManifest(manifest));
    } catch (error) {
      if (!(error instanceof TroupeError && error.code === 'CONFLICT')) throw error;
      const there = await this.read(manifest.version);
      if (there?.opener !== manifest.opener) throw this.overtaken(manifest.version);
      stored = there;
    }
    if (await this.#counts(stored)) return stored;
    await this.#blobs.delete(name);
    throw this.overtaken(manifest.version);
  }

  /** See the file's head: whether a manifest just stored was above the head. */
  async #counts({ version, opener }: Manifest): Promise<boolean> {
    if ((await this.head()) === version) return true;
    return (await this.read(version + 1))?.parent === opener;
  }

  overtaken(version: number): TroupeError {
    return new TroupeError(
      'CONFLICT',
      `the workspace of ${this.#actor} was saved as version ${version} by another opener since it ` +
        'was opened here; nothing was changed. Open it again and repeat the work on that version.',
      { details: { version } },
    );
  }

  /**
   * Keeps the newest `kept` manifests up to this one, which is committed, and their chunks; removes
   * all other manifests and chunks of versions up to it.
   */
  async sweep(head: Manifest, kept: number): Promise<void> {
    const oldest = head.version - kept + 1;
    const named = new Set<string>();
    for (const version of await this.#list()) {
      if (version < oldest) await this.#blobs.delete(this.#manifests + padded(version));
      else if (version <= head.version) addChunks(named, await this.read(version));
    }
    addChunks(named, head);
    for (const name of await this.#blobs.list(this.#chunks)) {
      const chunk = name.slice(this.#chunks.length);
      const decided = Number(chunk.slice(0, VERSION_DIGITS)) <= head.version;
      if (decided && !named.has(chunk)) await this.#blobs.delete(name);
    }
  }

  async #list(): Promise<number[]> {
    const names = await this.#blobs.list(this.#manifests);
    return names.map((name) => Number(name.slice(this.#manifests.length)));
  }
}

const addChunks = (named: Set<string>, manifest: Manifest | undefined): void => {
  for (const entry of manifest?.entries ?? [])
    if (entry.kind === 'file') for (const chunk of entry.chunks) named.add(chunk);
};
