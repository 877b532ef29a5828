/**
 * syncedWorkspaces: workspaces stored in Blobs as immutable versions and copied to the worker that
 * opens them. The blobs are authoritative (`versions.ts`). Every opening makes the folder equal to
 * the newest version, so unsaved changes never return and versions never mix.
 *
 * Cost: every opening and every save reads and hashes all files (about 1 s per GB); only
 * differences are copied. It cannot distinguish an actor whose versions were all lost from one that
 * never saved. A missing store rejects, and the name of every blob contains that of its cell.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import { checkOut, removeTree } from './checkout.ts';
import { type Manifest, type SavedEntry, sameEntries } from './manifest.ts';
import { folderNameOf, reaching } from './name.ts';
import { KEPT, KeptCopies } from './kept-copies.ts';
import { OpenedWorkspace, type Saved } from './opened.ts';
import type { Peeked } from './peek.ts';
import { PeekSaved } from './peek-saved.ts';
import { inParallel } from './parallel.ts';
import { type Place, Places } from './places.ts';
import { chunksOf, readTree } from './tree.ts';
import { hashIn, hashOf, Versions } from './versions.ts';
import {
  DEFAULT_WORKSPACE_LIMITS,
  type LeftOut,
  type ListedFile,
  type Workspace,
  type WorkspaceLimits,
  type Workspaces,
} from './workspaces.ts';
import { makeFolder } from '../make-folder.ts';

export type SyncedWorkspacesOptions = {
  /** of the cell; its `put` must refuse a taken name between processes, too */
  readonly blobs: Blobs;
  /** on a disk of this machine; created if absent; may be removed while no workspace is open */
  readonly cacheFolder: string;
  readonly cell: string;
  /** versions whose files stay in the store, the newest included; default 8, at least 2 */
  readonly versionsKept?: number;
  /** copies that stay on the disk between openings; default 256 */
  readonly copiesKept?: number;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly clock?: Clock;
};

const FILES_AT_ONCE = 8;
/** Maximum number of newer versions that an opening meets before it gives up. */
const OPENINGS_MAX = 5;

/** Accesses no file before the first workspace is opened. */
export const syncedWorkspaces = (options: SyncedWorkspacesOptions): Workspaces =>
  new SyncedWorkspaces(options);

/**
 * One opening: the folder of its copy, and the version that the copy was created from or last saved
 * as.
 */
type Copy = {
  readonly actor: Address;
  readonly versions: Versions;
  readonly opener: string;
  readonly path: string;
  base: Manifest;
};

type Uploaded = { readonly entries: SavedEntry[]; readonly leftOut: readonly LeftOut[] };

class SyncedWorkspaces implements Workspaces {
  readonly #o: SyncedWorkspacesOptions;
  readonly #root: string;
  readonly #versionsKept: number;
  readonly #limits: WorkspaceLimits;
  readonly #places: Places;
  readonly #copies: KeptCopies;
  readonly #peek: PeekSaved;

  constructor(options: SyncedWorkspacesOptions) {
    const { cacheFolder, limits, clock = systemClock, versionsKept = 8 } = options;
    this.#o = options;
    this.#root = resolve(cacheFolder);
    this.#versionsKept = Math.max(2, versionsKept);
    this.#limits = { ...DEFAULT_WORKSPACE_LIMITS, ...limits };
    this.#places = new Places(clock);
    this.#peek = new PeekSaved(clock);
    this.#copies = new KeptCopies(this.#root, this.#places, options.copiesKept ?? 256);
  }

  open(actor: Address, { signal }: { readonly signal: AbortSignal }): Promise<Workspace> {
    const opening = async () => {
      signal.throwIfAborted();
      makeFolder(this.#root);
      const name = folderNameOf(actor);
      await this.#copies.take(name);
      const place = await this.#places.enter(this.#root, name, signal);
      try {
        const copy = await this.#copy(actor, place, signal);
        return new OpenedWorkspace(copy.path, {
          version: copy.base.version,
          save: () => reaching(`the workspace of ${actor}`, () => this.#save(copy)),
          close: async (abandoned) => {
            await close(copy.path, place, abandoned);
            if (!abandoned) await this.#copies.add(name);
          },
        });
      } catch (error) {
        await place.leave();
        throw error;
      }
    };
    return reaching(`the workspace of ${actor}`, opening, signal);
  }

  peek(actor: Address, paths: readonly string[], before?: Peeked): Promise<Peeked> {
    const versions = new Versions(this.#o.blobs, this.#o.cell, actor);
    const peeking = () => this.#peek.peek(actor, versions, paths, before);
    return reaching(`the workspace of ${actor}`, peeking);
  }

  list(actor: Address, folder: string): Promise<readonly ListedFile[]> {
    const versions = new Versions(this.#o.blobs, this.#o.cell, actor);
    return reaching(`the workspace of ${actor}`, () => this.#peek.list(actor, versions, folder));
  }

  dropVersions(actor: Address): Promise<void> {
    const versions = new Versions(this.#o.blobs, this.#o.cell, actor);
    return reaching(`the workspace of ${actor}`, async () => {
      const head = await this.#head(actor, versions);
      if (head && head.version > 0) await versions.sweep(head, 1);
    });
  }

  dropCopies(): Promise<void> {
    return reaching(`the copies in ${this.#root}`, () => this.#copies.dropAll());
  }

  /**
   * A new name for every opening: abandoned work of an earlier opening that is still running has
   * its own folder, which no longer exists.
   */
  async #copy(actor: Address, { folder }: Place, signal: AbortSignal): Promise<Copy> {
    const opener = randomBytes(8).toString('hex');
    const versions = new Versions(this.#o.blobs, this.#o.cell, actor);
    const path = join(folder, opener);
    for (const { name } of await subfolders(folder))
      if (name !== KEPT) await removeTree(join(folder, name));
    await rename(join(folder, KEPT), path).catch(() => mkdir(path, { mode: 0o700 }));
    for (let opening = 1; opening <= OPENINGS_MAX; opening++) {
      const base = await this.#head(actor, versions);
      if (base && (await this.#bring(path, base, versions, signal)))
        return { actor, versions, opener, path, base };
    }
    throw new TroupeError(
      'UNAVAILABLE',
      `files of the workspace of ${actor} are missing in the store, or it was saved faster than it could be opened`,
      { details: { reason: 'MISSING' } },
    );
  }

  /** undefined when the version was removed in the meantime, because there is a newer one. */
  async #head(actor: Address, versions: Versions): Promise<Manifest | undefined> {
    const version = await versions.head();
    if (version > 0) return versions.read(version);
    return { cell: this.#o.cell, actor, version, opener: '', parent: '', entries: [] };
  }

  /** Whether every file was found; false if the version was swept meanwhile. */
  async #bring(
    path: string,
    { entries }: Manifest,
    versions: Versions,
    signal: AbortSignal,
  ): Promise<boolean> {
    let missing = false;
    const fetch = async (chunk: string): Promise<Uint8Array> => {
      signal.throwIfAborted();
      const bytes = await versions.getChunk(chunk);
      if (bytes) return bytes;
      missing = true;
      throw new TroupeError('UNAVAILABLE', `${chunk} is missing in the store`);
    };
    try {
      await checkOut(path, entries, this.#limits, fetch);
      return true;
    } catch (error) {
      if (missing) return false;
      throw error;
    }
  }

  async #save(copy: Copy): Promise<Saved> {
    for (;;) {
      const { base, versions, opener } = copy;
      const version = base.version + 1;
      const head = await versions.head();
      if (head < base.version) throw lost(copy.actor, base.version, head);
      if (head < version) {
        const { entries, leftOut } = await this.#upload(copy, version);
        if (sameEntries(entries, base.entries)) return { version: base.version, leftOut };
        const next = { ...base, version, opener, parent: base.opener, entries };
        copy.base = await versions.commit(next);
        if (copy.base === next) return { version: await this.#saved(copy), leftOut };
        continue;
      }
      const there = await versions.read(version);
      if (there?.opener !== opener) throw versions.overtaken(version);
      copy.base = there; // an earlier attempt whose answer was lost
    }
  }

  /** The folder's entries, with the chunks that the base has not stored under their names. */
  async #upload({ path, versions, opener, base }: Copy, version: number): Promise<Uploaded> {
    const stored = new Map<string, string>();
    for (const entry of base.entries)
      if (entry.kind === 'file') for (const chunk of entry.chunks) stored.set(hashIn(chunk), chunk);
    const entries: SavedEntry[] = [];
    const { entries: tree, leftOut } = await readTree(path, this.#limits);
    await inParallel([...tree.entries()], FILES_AT_ONCE, async ([at, entry]) => {
      if (entry.kind !== 'file') return void (entries[at] = entry);
      const chunks: string[] = [];
      let bytes = 0;
      for await (const piece of chunksOf(join(path, entry.path))) {
        const hash = hashOf(piece);
        const chunk = stored.get(hash) ?? versions.chunkOf(version, opener, hash);
        if (!stored.has(hash)) await versions.putChunk(chunk, piece);
        stored.set(hash, chunk);
        chunks.push(chunk);
        bytes += piece.length;
      }
      entries[at] = { ...entry, bytes, chunks };
    });
    return { entries, leftOut };
  }

  /** Removes old versions after the commit. A failed sweep is completed by the next one. */
  async #saved({ actor, base, versions }: Copy): Promise<number> {
    this.#peek.saved(actor, base);
    if (base.version % this.#versionsKept === 0)
      await versions.sweep(base, this.#versionsKept).catch(() => {});
    return base.version;
  }
}

const lost = (actor: Address, version: number, head: number): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the store has version ${head} of the workspace of ${actor}, but had version ${version} before: it has lost saved versions`,
    { details: { reason: 'MISSING' } },
  );

/** An abandoned program may have its working folder in the copy, also under another name. */
const close = async (path: string, place: Place, abandoned: boolean): Promise<void> => {
  try {
    if (abandoned) await removeTree(path);
    else await rename(path, join(place.folder, KEPT));
  } finally {
    await place.leave();
  }
};

const subfolders = async (folder: string) =>
  (await readdir(folder, { withFileTypes: true })).filter((found) => found.isDirectory());
