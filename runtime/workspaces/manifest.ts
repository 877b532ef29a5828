/**
 * Manifest: one version of a synced workspace, whole: every entry and the names of the blobs its
 * files' bytes are in. Stored once under its version's number and never changed.
 */
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { staysInside, type TreeEntry } from './tree.ts';

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
  /** who made it: unique per opening, so that no two openings store the same bytes */
  readonly opener: string;
  /** `opener` of the version before; empty for version 1 */
  readonly parent: string;
  /** a folder stands before what it holds */
  readonly entries: readonly SavedEntry[];
};

export const encodeManifest = (manifest: Manifest): Uint8Array => encode(manifest);

/**
 * Read, and believed only where restoring it can not write outside of its folder. @throws
 * TroupeError UNAVAILABLE, details.reason CORRUPT
 */
export const decodeManifest = (bytes: Uint8Array, expected: Partial<Manifest>): Manifest => {
  const what = `version ${expected.version} of the workspace of ${expected.actor}`;
  let manifest: Manifest;
  try {
    manifest = decode<Manifest>(bytes);
    checkEntries(manifest.entries);
  } catch (error) {
    throw corrupt(`${what} is damaged: ${(error as Error).message}`, error);
  }
  for (const field of ['cell', 'actor', 'version'] as const) {
    if (manifest[field] !== expected[field])
      throw corrupt(`${what} says that its ${field} is ${manifest[field]}`);
  }
  return manifest;
};

function checkEntries(entries: readonly SavedEntry[]): void {
  const folders = new Set(['']);
  const paths = new Set<string>();
  for (const entry of entries) {
    const { path } = entry;
    const steps = path.split('/');
    const parent = steps.slice(0, -1).join('/');
    if (steps.some((step) => step === '' || step === '.' || step === '..') || paths.has(path))
      throw new Error(`${JSON.stringify(path)} is no path, or is there twice`);
    if (!folders.has(parent)) throw new Error(`${JSON.stringify(path)} is in no folder`);
    if (entry.kind === 'link' && !staysInside(path, entry.target))
      throw new Error(`the link ${JSON.stringify(path)} leads out`);
    paths.add(path);
    if (entry.kind === 'folder') folders.add(path);
  }
}

/** Whether both describe the same files, wherever their bytes are. */
export const sameEntries = (a: readonly SavedEntry[], b: readonly SavedEntry[]): boolean =>
  a.length === b.length && a.every((entry, at) => sameEntry(entry, b[at]!));

const sameEntry = (a: SavedEntry, b: SavedEntry): boolean => {
  if (a.path !== b.path) return false;
  if (a.kind === 'file')
    return b.kind === 'file' && a.mode === b.mode && a.chunks.join() === b.chunks.join();
  return a.kind === 'link' ? b.kind === 'link' && a.target === b.target : b.kind === 'folder';
};

const corrupt = (message: string, cause?: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', message, { details: { reason: 'CORRUPT' }, cause });
