/**
 * Manifest: one complete version of a synced workspace: every entry, and the names of the blobs
 * with the bytes of its files. It is stored once under its version number and never changed.
 */
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { isSandboxPath, staysInside, type TreeEntry } from './tree.ts';

export type SavedFile = {
  readonly kind: 'file';
  readonly path: string;
  readonly mode: number;
  readonly bytes: number;
  /** see `Versions.chunkOf`; in order */
  readonly chunks: readonly string[];
};

export type SavedEntry = Exclude<TreeEntry, { kind: 'file' }> | SavedFile;

export type Manifest = {
  readonly cell: string;
  readonly actor: string;
  /** from 1, without gaps */
  readonly version: number;
  /** the opening that created it: unique, so that no two openings store the same bytes */
  readonly opener: string;
  /** `opener` of the version before; empty for version 1 */
  readonly parent: string;
  /** a folder comes before its contents */
  readonly entries: readonly SavedEntry[];
};

type Link = Extract<SavedEntry, { kind: 'link' }>;

/**
 * Links to paths of the sandbox are stored beside the entries: a worker of an older version treats
 * a manifest with such an entry as damaged. It ignores this field, and copies it unread into the
 * version that it saves next.
 */
type Stored = Manifest & { readonly sandboxLinks?: readonly Link[] };

const isSandboxLink = (entry: SavedEntry): entry is Link =>
  entry.kind === 'link' && isSandboxPath(entry.target);

export const encodeManifest = (manifest: Manifest): Uint8Array => {
  const sandboxLinks = manifest.entries.filter(isSandboxLink);
  if (sandboxLinks.length === 0) return encode(manifest);
  const entries = manifest.entries.filter((entry) => !isSandboxLink(entry));
  return encode({ ...manifest, entries, sandboxLinks } satisfies Stored);
};

/**
 * Decodes a manifest, and accepts it only if restoring it cannot write outside of its folder.
 * @throws TroupeError UNAVAILABLE, details.reason CORRUPT
 */
export const decodeManifest = (bytes: Uint8Array, expected: Partial<Manifest>): Manifest => {
  const what = `version ${expected.version} of the workspace of ${expected.actor}`;
  let manifest: Manifest;
  try {
    const { sandboxLinks = [], ...stored } = decode<Stored>(bytes);
    checkEntries(stored.entries);
    manifest = { ...stored, entries: withLinks(stored.entries, sandboxLinks) };
  } catch (error) {
    throw corrupt(`${what} is damaged: ${(error as Error).message}`, error);
  }
  for (const field of ['cell', 'actor', 'version'] as const) {
    if (manifest[field] !== expected[field])
      throw corrupt(`${what} is damaged: it names the ${field} ${manifest[field]}`);
  }
  return manifest;
};

/**
 * A link that is no longer valid is dropped: an older worker may have saved another entry in its
 * place, or removed its folder.
 */
function withLinks(entries: readonly SavedEntry[], links: readonly Link[]): readonly SavedEntry[] {
  if (links.length === 0) return entries;
  const folders = new Set(['']);
  for (const { kind, path } of entries) if (kind === 'folder') folders.add(path);
  const taken = new Set(entries.map(({ path }) => path));
  const fitting = links.filter(({ path, target }) => {
    const fits =
      !taken.has(path) && isPath(path) && folders.has(parentOf(path)) && isSandboxPath(target);
    taken.add(path);
    return fits;
  });
  return [...entries, ...fitting.map(({ path, target }): Link => ({ kind: 'link', path, target }))];
}

const parentOf = (path: string): string => path.split('/').slice(0, -1).join('/');

const isPath = (path: string): boolean =>
  !path.split('/').some((step) => step === '' || step === '.' || step === '..');

function checkEntries(entries: readonly SavedEntry[]): void {
  const folders = new Set(['']);
  const paths = new Set<string>();
  for (const entry of entries) {
    const { path } = entry;
    if (!isPath(path) || paths.has(path))
      throw new Error(`${JSON.stringify(path)} is not a valid path, or occurs twice`);
    if (!folders.has(parentOf(path))) throw new Error(`${JSON.stringify(path)} is in no folder`);
    if (entry.kind === 'link' && !staysInside(path, entry.target))
      throw new Error(`the link ${JSON.stringify(path)} leads out`);
    paths.add(path);
    if (entry.kind === 'folder') folders.add(path);
  }
}

/** Whether both describe the same files, in any order, wherever their bytes are. */
export const sameEntries = (a: readonly SavedEntry[], b: readonly SavedEntry[]): boolean => {
  const others = new Map(b.map((entry) => [entry.path, entry]));
  return a.length === b.length && a.every((entry) => sameEntry(entry, others.get(entry.path)));
};

const sameEntry = (a: SavedEntry, b: SavedEntry | undefined): boolean => {
  if (b === undefined) return false;
  if (a.kind === 'file')
    return b.kind === 'file' && a.mode === b.mode && a.chunks.join() === b.chunks.join();
  return a.kind === 'link' ? b.kind === 'link' && a.target === b.target : b.kind === 'folder';
};

const corrupt = (message: string, cause?: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', message, { details: { reason: 'CORRUPT' }, cause });
