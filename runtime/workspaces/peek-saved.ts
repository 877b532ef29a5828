/**
 * PeekSaved: reads files of the last saved version of synced workspaces directly from the store:
 * only the requested files, and those only when they changed.
 *
 * Freshness: versions saved by this process are visible at once; those of other workers within
 * HEAD_MS.
 */
import { posix } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { LruMap } from '../lru-map.ts';
import type { Manifest, SavedEntry, SavedFile } from './manifest.ts';
import { NOTHING, PEEK_BYTES_MAX, PEEK_FOLDERS_MAX, type Peeked, type PeekedFile } from './peek.ts';
import type { Versions } from './versions.ts';
import type { ListedFile } from './workspaces.ts';

/** Maximum age of the cached newest version. */
const HEAD_MS = 1_000;
const HEADS_MAX = 1_000;
/** Maximum number of consecutive links. */
const LINKS_MAX = 8;
/** A version may be swept while it is read; then a newer one is read. */
const LOOKS_MAX = 5;

type Head = { readonly at: number; readonly manifest: Promise<Manifest | undefined> };

export class PeekSaved {
  readonly #clock: Clock;
  readonly #heads = new LruMap<Address, Head>(HEADS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when this process has saved a version, which is the newest. */
  saved(actor: Address, manifest: Manifest): void {
    this.#remember(actor, Promise.resolve(manifest));
  }

  async peek(
    actor: Address,
    versions: Versions,
    paths: readonly string[],
    before: Peeked | undefined,
  ): Promise<Peeked> {
    for (let look = 1; look <= LOOKS_MAX; look++) {
      const manifest = await this.#head(actor, versions);
      if (!manifest) return NOTHING;
      const wanted = selected(manifest.entries, paths);
      const signature = wanted
        .map(({ path, file }) => `${path}\0${file?.chunks.join(' ') ?? 'leads out'}`)
        .join('\n');
      if (before && before.signature === signature) return before;
      const files = await Promise.all(wanted.map((one) => read(one, versions)));
      if (!files.includes(undefined)) return { signature, files: files as PeekedFile[] };
      this.#heads.delete(actor);
    }
    throw new TroupeError('UNAVAILABLE', `files of the workspace of ${actor} are missing`, {
      details: { reason: 'MISSING' },
    });
  }

  async list(actor: Address, versions: Versions, folder: string): Promise<readonly ListedFile[]> {
    const manifest = await this.#head(actor, versions);
    return (manifest?.entries ?? [])
      .filter((entry) => entry.kind === 'file' && entry.path.startsWith(`${folder}/`))
      .map((entry) => ({ path: entry.path, bytes: (entry as SavedFile).bytes }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** undefined if nothing was ever saved. Concurrent callers share one request. */
  #head(actor: Address, versions: Versions): Promise<Manifest | undefined> {
    const known = this.#heads.get(actor);
    if (known && this.#clock.monotonicMs() - known.at < HEAD_MS) return known.manifest;
    const manifest = this.#look(versions, known?.manifest);
    this.#remember(actor, manifest);
    manifest.catch(() => {
      if (this.#heads.get(actor)?.manifest === manifest) this.#heads.delete(actor);
    });
    return manifest;
  }

  async #look(versions: Versions, known: Head['manifest'] | undefined) {
    const before = await known?.catch(() => undefined);
    for (;;) {
      const version = await versions.head();
      if (version === 0) return undefined;
      if (before?.version === version) return before;
      const manifest = await versions.read(version);
      if (manifest) return manifest; // otherwise it was removed meanwhile, so there is a newer one
    }
  }

  #remember(actor: Address, manifest: Head['manifest']): void {
    this.#heads.set(actor, { at: this.#clock.monotonicMs(), manifest });
  }
}

/** `file`: absent if a link has no file as its target. */
type Selected = { readonly path: string; readonly file?: SavedFile };

function selected(entries: readonly SavedEntry[], paths: readonly string[]): Selected[] {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  return paths
    .flatMap((path) => expanded(byPath, path))
    .filter((path) => byPath.get(path) !== undefined)
    .map((path) => {
      const file = resolved(byPath, path);
      return file ? { path, file } : { path };
    });
}

function expanded(entries: ReadonlyMap<string, SavedEntry>, path: string): string[] {
  const steps = path.split('/');
  const star = steps.indexOf('*');
  if (star < 0) return [path];
  const folder = steps.slice(0, star).join('/');
  return [...entries.values()]
    .filter((entry) => entry.kind === 'folder' && parentOf(entry.path) === folder)
    .map((entry) => entry.path)
    .sort()
    .slice(0, PEEK_FOLDERS_MAX)
    .map((found) => [found, ...steps.slice(star + 1)].join('/'));
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The target of a path's links; undefined if it is not a saved file, or a path of the sandbox. */
function resolved(entries: ReadonlyMap<string, SavedEntry>, path: string): SavedFile | undefined {
  let entry = entries.get(path);
  for (let link = 0; entry?.kind === 'link' && link < LINKS_MAX; link++) {
    if (posix.isAbsolute(entry.target)) return undefined;
    entry = entries.get(posix.join(parentOf(entry.path), entry.target));
  }
  return entry?.kind === 'file' ? entry : undefined;
}

/** undefined when the version was swept meanwhile. */
async function read({ path, file }: Selected, versions: Versions): Promise<PeekedFile | undefined> {
  if (!file) return { path, size: 0, left: 'unreadable' };
  if (file.bytes > PEEK_BYTES_MAX) return { path, size: file.bytes, left: 'too large' };
  const chunks: Uint8Array[] = [];
  for (const chunk of file.chunks) {
    const bytes = await versions.getChunk(chunk);
    if (bytes === undefined) return undefined;
    chunks.push(bytes);
  }
  return { path, size: file.bytes, bytes: Buffer.concat(chunks) };
}
