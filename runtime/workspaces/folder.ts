/**
 * folderWorkspaces: workspaces in a folder of this machine or on a volume that all workers mount.
 * An actor's files are in `{root}/{actor}/files`, or in the folder that `filesOf` names; this
 * folder is the only copy. The lock and the version are always in `{root}/{actor}`. Files that were
 * written before a crash exist after it, saved or not; `save` only checks them, makes them durable
 * and increments the version.
 *
 * `{root}/troupe-workspaces.json` names the cell. Without it the volume is not mounted, or is
 * another one: then every opening and saving is UNAVAILABLE, because a mount can disappear.
 */
import { open, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder, writeFileDurably } from '../blobs/durable-file.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import { listFolder } from './list-folder.ts';
import { folderNameOf, nameHash, reaching } from './name.ts';
import { OpenedWorkspace, type Saved } from './opened.ts';
import { isAbsent, NOTHING, type Peeked, peekFolder } from './peek.ts';
import { type Place, Places } from './places.ts';
import { readTree } from './tree.ts';
import {
  DEFAULT_WORKSPACE_LIMITS,
  type LeftOut,
  type ListedFile,
  type Workspace,
  type WorkspaceLimits,
  type Workspaces,
} from './workspaces.ts';
import { makeFolder } from '../make-folder.ts';

const MARKER = 'troupe-workspaces.json';

export type FolderWorkspacesOptions = {
  readonly root: string;
  readonly cell: string;
  /**
   * Makes the folder and its marker, at the first opening, when there is no marker. Only for a
   * folder that cannot be an empty mount point, or once by hand; default false
   */
  readonly create?: boolean;
  /**
   * an actor's own folder, absolute, of no other actor; undefined: `{root}/{actor}/files`. It is
   * made at the first opening if `create` is set. Default none
   */
  readonly filesOf?: (actor: Address) => string | undefined;
  readonly limits?: Partial<WorkspaceLimits>;
  readonly clock?: Clock;
};

/** Accesses no file before the first workspace is opened. */
export const folderWorkspaces = (options: FolderWorkspacesOptions): Workspaces =>
  new FolderWorkspaces(options);

class FolderWorkspaces implements Workspaces {
  readonly #root: string;
  readonly #cell: string;
  readonly #limits: WorkspaceLimits;
  readonly #places: Places;
  readonly #clock: Clock;
  readonly #filesOf: (actor: Address) => string | undefined;
  readonly #makesFolders: boolean;
  #create: boolean;

  constructor({
    root,
    cell,
    create = false,
    filesOf = () => undefined,
    limits,
    clock = systemClock,
  }: FolderWorkspacesOptions) {
    this.#root = resolve(root);
    this.#cell = cell;
    this.#create = create;
    this.#makesFolders = create;
    this.#filesOf = filesOf;
    this.#limits = { ...DEFAULT_WORKSPACE_LIMITS, ...limits };
    this.#places = new Places(clock);
    this.#clock = clock;
  }

  open(actor: Address, { signal }: { readonly signal: AbortSignal }): Promise<Workspace> {
    const opening = async () => {
      signal.throwIfAborted();
      await this.#checkMounted();
      const place = await this.#places.enter(this.#root, folderNameOf(actor), signal);
      try {
        return await this.#openAt(actor, place);
      } catch (error) {
        await place.leave();
        throw error;
      }
    };
    return reaching(`the workspace of ${actor} in ${this.#root}`, opening, signal);
  }

  peek(actor: Address, paths: readonly string[], before?: Peeked): Promise<Peeked> {
    return reaching(`the workspace of ${actor} in ${this.#root}`, async () => {
      // the first check reads the cell of the volume; later ones only check that the marker exists
      if (!before && (await this.#isThere())) await this.#checkMounted();
      const place = this.#placeOf(actor);
      const had = before !== undefined && before !== NOTHING;
      const seen =
        had || (await isThere(place))
          ? await peekFolder(place.files, paths, before, () => this.#clock.wallMs())
          : NOTHING;
      if (seen === NOTHING && before) await this.#isThere();
      return seen;
    });
  }

  list(actor: Address, folder: string): Promise<readonly ListedFile[]> {
    return reaching(`the workspace of ${actor} in ${this.#root}`, async () => {
      if (await this.#isThere()) await this.#checkMounted();
      return listFolder(this.#placeOf(actor).files, folder, this.#limits);
    });
  }

  /** False if the volume may be created and nothing was opened yet: then it is empty. */
  async #isThere(): Promise<boolean> {
    const marker = join(this.#root, MARKER);
    if (await exists(marker)) return true;
    if (this.#create) return false;
    throw unavailable(`${marker} is missing: the volume is not mounted`);
  }

  async #openAt(actor: Address, place: Place): Promise<Workspace> {
    const { files: path, counter, isOwn } = this.#placeOf(actor);
    if (isOwn && !this.#makesFolders && !(await exists(path))) throw missing(path);
    if (!isOwn || !(await isThere({ files: path, counter, isOwn }))) makeFolder(path);
    // Checked again: if the volume was unmounted in between, the new folder is in the empty mount
    // point.
    await this.#checkMounted();
    return new OpenedWorkspace(path, {
      version: await readCounter(counter),
      save: (from) => this.#save(actor, path, counter, from + 1),
      close: () => place.leave(),
    });
  }

  #placeOf(actor: Address): FilesPlace {
    const folder = join(this.#root, folderNameOf(actor));
    const own = this.#filesOf(actor);
    // another folder begins with version 0
    return own === undefined
      ? { files: join(folder, 'files'), counter: join(folder, 'version'), isOwn: false }
      : { files: own, counter: join(folder, `version.${nameHash(own)}`), isOwn: true };
  }

  #save(actor: Address, path: string, counter: string, version: number): Promise<Saved> {
    return reaching(`the workspace of ${actor} in ${this.#root}`, async () => {
      await this.#checkMounted();
      const leftOut = await syncTree(path, this.#limits);
      await writeFileDurably(counter, Buffer.from(`${version}\n`));
      return { version, leftOut };
    });
  }

  async #checkMounted(): Promise<void> {
    const marker = join(this.#root, MARKER);
    let text = await readMarker(marker);
    if (text === undefined && this.#create) {
      makeFolder(this.#root);
      text = `${JSON.stringify({ cell: this.#cell })}\n`;
      await writeFileDurably(marker, Buffer.from(text));
    }
    this.#create = false;
    if (text === undefined) {
      throw unavailable(
        `${marker} is missing: the volume is not mounted, or was not prepared for this cell`,
      );
    }
    const cell = cellOf(text);
    if (cell === this.#cell) return;
    throw unavailable(`${marker} names the cell ${cell ?? '(unreadable)'}, this is ${this.#cell}`);
  }
}

type FilesPlace = { readonly files: string; readonly counter: string; readonly isOwn: boolean };

/** @throws TroupeError UNAVAILABLE for an own folder that was saved and is missing */
const isThere = async ({ files, counter, isOwn }: FilesPlace): Promise<boolean> => {
  if (await exists(files)) return true;
  if (isOwn && (await exists(counter))) throw missing(files);
  return false;
};

const exists = async (path: string): Promise<boolean> => {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
};

const readMarker = async (marker: string): Promise<string | undefined> => {
  try {
    return await readFile(marker, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
};

const cellOf = (text: string): string | undefined => {
  try {
    const { cell } = JSON.parse(text) as { cell?: unknown };
    return typeof cell === 'string' ? cell : undefined;
  } catch {
    return undefined;
  }
};

const readCounter = async (file: string): Promise<number> => {
  const text = await readMarker(file);
  if (text === undefined) return 0;
  const version = Number(text);
  if (Number.isSafeInteger(version) && version > 0) return version;
  throw unavailable(`${file} is damaged: it contains ${JSON.stringify(text.slice(0, 40))}`);
};

/**
 * Makes every file and every name survive a power loss. Returns the entries that a workspace must
 * not contain.
 */
async function syncTree(root: string, limits: WorkspaceLimits): Promise<readonly LeftOut[]> {
  const { entries, leftOut } = await readTree(root, limits);
  for (const entry of entries) {
    if (entry.kind === 'folder') await syncFolder(join(root, entry.path));
    if (entry.kind === 'file') await syncFile(join(root, entry.path));
  }
  await syncFolder(root);
  return leftOut;
}

const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};

const missing = (folder: string): TroupeError =>
  unavailable(`${folder} is missing: create it, or mount its volume`);

const unavailable = (message: string): TroupeError => new TroupeError('UNAVAILABLE', message);
