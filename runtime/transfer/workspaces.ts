/**
 * Workspaces of an export: files that actors have in a folder of their machine become the blobs in
 * which synced workspaces are stored, so that a moved actor never finds an empty folder. Each
 * becomes version 1 with the present files.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { FolderWorkspacesOptions } from '../workspaces/folder.ts';
import type { SavedEntry } from '../workspaces/manifest.ts';
import { folderNameOf } from '../workspaces/name.ts';
import { chunksOf, readTree, type TreeEntry } from '../workspaces/tree.ts';
import { hashOf, Versions } from '../workspaces/versions.ts';
import { DEFAULT_WORKSPACE_LIMITS } from '../workspaces/workspaces.ts';
import type { Frame } from './frames.ts';

type Blob = readonly [name: string, bytes: Uint8Array];

/** Options of the `folderWorkspaces` that are exported. */
export type WorkspaceSource = Required<Pick<FolderWorkspacesOptions, 'root' | 'filesOf'>>;

/** Finds the actors that have files while their rows are exported. */
export class WorkspacesFound {
  readonly #o: WorkspaceSource;
  readonly #names: ReadonlySet<string>;
  readonly #folders: (readonly [Address, folder: string])[] = [];

  private constructor(source: WorkspaceSource, names: readonly string[]) {
    this.#o = source;
    this.#names = new Set(names);
  }

  static async in(source: WorkspaceSource): Promise<WorkspacesFound> {
    return new WorkspacesFound(source, existsSync(source.root) ? await readdir(source.root) : []);
  }

  look(actor: Address): void {
    const own = this.#o.filesOf(actor);
    const name = folderNameOf(actor);
    if (own === undefined) {
      if (this.#names.has(name)) this.#folders.push([actor, join(this.#o.root, name, 'files')]);
    } else if (this.#names.has(name) || existsSync(own)) this.#folders.push([actor, own]);
  }

  /** @param onLeftOut receives a line for each path that a workspace must not contain */
  async *frames(cell: string, onLeftOut: (line: string) => void): AsyncGenerator<Frame> {
    for (const [actor, folder] of this.#folders) {
      const tree = await readTree(folder, DEFAULT_WORKSPACE_LIMITS).catch((cause: unknown) => {
        const { code, message } = errorData(cause);
        const what = `the workspace of ${actor} cannot be exported from ${folder}: ${message}`;
        throw new TroupeError(code, what, { cause });
      });
      for (const { path, reason } of tree.leftOut)
        onLeftOut(
          `not exported from the workspace of ${actor}: ${JSON.stringify(path)}, ${reason}`,
        );
      for await (const [name, bytes] of versionOf(folder, tree.entries, cell, actor))
        yield ['blob', name, bytes];
    }
  }
}

/** The blobs of the folder's first version, its manifest last. */
async function* versionOf(
  folder: string,
  tree: readonly TreeEntry[],
  cell: string,
  actor: Address,
): AsyncGenerator<Blob> {
  const sink = new Sink();
  const versions = new Versions(sink, cell, actor);
  const opener = randomBytes(8).toString('hex');
  const stored = new Set<string>();
  const entries: SavedEntry[] = [];
  for (const entry of tree) {
    if (entry.kind !== 'file') {
      entries.push(entry);
      continue;
    }
    const chunks: string[] = [];
    for await (const piece of chunksOf(join(folder, entry.path))) {
      const chunk = versions.chunkOf(1, opener, hashOf(piece));
      chunks.push(chunk);
      if (stored.has(chunk)) continue;
      stored.add(chunk);
      await versions.putChunk(chunk, piece);
      yield* sink.take();
    }
    entries.push({ ...entry, chunks });
  }
  await versions.commit({ cell, actor, version: 1, opener, parent: '', entries });
  yield* sink.take();
}

/** Blobs that are being exported: their names stay in memory, their bytes are released. */
class Sink implements Blobs {
  readonly #names: string[] = [];
  #put: Blob[] = [];

  take(): readonly Blob[] {
    const taken = this.#put;
    this.#put = [];
    return taken;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    this.#names.push(name);
    this.#put.push([name, bytes]);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    return this.#put.find(([put]) => put === name)?.[1];
  }

  async delete(): Promise<void> {}

  async list(prefix: string): Promise<readonly string[]> {
    return this.#names.filter((name) => name.startsWith(prefix));
  }
}
