/**
 * Workspaces: a folder of files that belongs to an actor and is where its effects run, on any
 * worker.
 *
 * Contract, for every provider (`test/runtime/workspaces/contract.ts`):
 *  - what one opener saved is what the next one finds, on any worker: bytes, file modes, links
 *    that may be saved, empty folders, deletions. Not kept: owners, times, modes of folders, and
 *    that two names were one file;
 *  - a workspace that cannot be reached is UNAVAILABLE (retryable), never an empty folder in its
 *    place. An actor that never saved has an empty one, version 0;
 *  - one opener at a time per machine (for a shared volume: per volume, where it has locks): the
 *    next one waits until the first has closed or its process has ended;
 *  - what was not saved is still there in a folder that is shared, and gone in one that is synced;
 *  - what cannot be saved is left out by name and costs nothing else: a link that escapes, a
 *    socket, a pipe, a device, a name that is not UTF-8. Where the folder is shared it stays there;
 *  - a link inside the folder, or to a path of the sandbox (`tree.ts`), is saved as a link. Code
 *    outside of a sandbox must not follow a link that leaves the folder.
 */
import type { Address } from '../../protocols/address.ts';
import type { Labels } from '../labels.ts';
import type { Peeked } from './peek.ts';

export type { Peeked, PeekedFile } from './peek.ts';

export interface Workspaces {
  /**
   * Resolves when the folder is there with all that was saved; waits for the opener before.
   * `signal` ends the wait with its reason; it does not end the workspace.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  open(actor: Address, options: { readonly signal: AbortSignal }): Promise<Workspace>;
  /**
   * Some files as they are, without waiting for an opener and without opening: nothing of an actor
   * that never had a workspace. Where the folder is shared it may see a file that is being written;
   * where it is synced it sees the last saved version, for at most a second one that another worker
   * has replaced. `before`: what the last look answered; the same object when nothing changed.
   *
   * @param paths of files, relative; one step may be `*`: every folder there
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  peek(actor: Address, paths: readonly string[], before?: Peeked): Promise<Peeked>;
  /** Labels of the workers that can open it; left out, or `{}`: every worker can. */
  labelsOf?(actor: Address): Labels;
}

export interface Workspace {
  /** absolute path of a folder that exists; valid until `close` */
  readonly path: string;
  /** the version that was opened or saved last; 0 when nothing was saved yet */
  readonly version: number;
  /**
   * Saves the contents of the folder as the next version, durably. Without a change it stays the
   * same version where the provider can detect that. The folder must not be written in the
   * meantime. May be repeated, also after UNAVAILABLE, which leaves open whether this version
   * counts.
   *
   * @returns what could not be saved; empty when everything was
   * @throws TroupeError CONFLICT when another opener saved since this one opened: nothing is
   * changed; PAYLOAD_TOO_LARGE past a limit; UNAVAILABLE
   */
  save(): Promise<readonly LeftOut[]>;
  /**
   * Admits the next opener and discards unsaved changes. Waits for a running `save`. Repeatable.
   * `abandoned`: abandoned work may still be writing; where the folder is a copy, it is not used
   * again.
   */
  close(options?: { readonly abandoned?: boolean }): Promise<void>;
}

/** A path within the workspace that is not saved. */
export type LeftOut = { readonly path: string; readonly reason: string };

/** What a workspace may hold; checked when it is saved. */
export type WorkspaceLimits = {
  /** files, links and folders together; default 10,000 */
  readonly entriesMax: number;
  /** of all files; default 1 GiB */
  readonly bytesMax: number;
  /** of one file; default 100 MiB */
  readonly fileBytesMax: number;
  /** folders within folders; default 32 */
  readonly depthMax: number;
  /** UTF-8 bytes of a path within the workspace; default 1,024 */
  readonly pathBytesMax: number;
};

export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  entriesMax: 10_000,
  bytesMax: 1024 * 1024 * 1024,
  fileBytesMax: 100 * 1024 * 1024,
  depthMax: 32,
  pathBytesMax: 1_024,
};
