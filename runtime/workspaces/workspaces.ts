/**
 * Workspaces: a folder of files that belongs to an actor and is where its effects run, on any
 * worker.
 *
 * Contract, for every provider (`test/runtime/workspaces/contract.ts`):
 *  - the next opener, on any worker, finds exactly what the previous one saved: bytes, file modes,
 *    permitted links, empty folders, deletions. Not saved: owners, times, modes of folders, hard
 *    links;
 *  - a workspace that cannot be reached is UNAVAILABLE (retriable), never replaced by an empty
 *    folder. An actor that never saved has an empty workspace, version 0;
 *  - one opener at a time per machine (for a shared volume: per volume, if it has locks): the next
 *    one waits until the first has closed or its process has ended;
 *  - unsaved changes remain in a shared folder, and are lost in a synced one;
 *  - an entry that cannot be saved is reported by name, and the others are saved: a link that
 *    escapes, a socket, a pipe, a device, a name that is not UTF-8. In a shared folder it remains;
 *  - a link inside the folder, or to a path of the sandbox (`tree.ts`), is saved as a link. Code
 *    outside of a sandbox must not follow a link that leaves the folder.
 */
import type { Address } from '../../protocols/address.ts';
import type { Labels } from '../labels.ts';
import type { Peeked } from './peek.ts';

export type { Peeked } from './peek.ts';

export interface Workspaces {
  /**
   * Resolves when the folder contains the last saved version; waits for the previous opener.
   * `signal` ends the wait with its reason; it does not close the workspace.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  open(actor: Address, options: { readonly signal: AbortSignal }): Promise<Workspace>;
  /**
   * Reads some files without opening the workspace and without waiting for an opener. No files if
   * the actor never had a workspace. In a shared folder it may read a file that is being written.
   * In a synced one it reads the last saved version, which may be one second old. `before`: the
   * previous result; the same object is returned if nothing has changed.
   *
   * @param paths of files, relative; one step may be `*`: every folder there
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  peek(actor: Address, paths: readonly string[], before?: Peeked): Promise<Peeked>;
  /**
   * The files below a folder, without opening the workspace; as fresh as `peek`. Links are left
   * out, and so is what cannot be read. None if the actor never had a workspace.
   *
   * @param folder relative, of plain steps
   * @returns by path; at most as many as a workspace may have entries
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  list(actor: Address, folder: string): Promise<readonly ListedFile[]>;
  /** Removes every saved version but the last one. Absent where there is only one. */
  dropVersions?(actor: Address): Promise<void>;
  /**
   * Removes what stays on this machine between openings; waits for openers, up to a minute each.
   * Absent where that is the only copy. @throws TroupeError UNAVAILABLE
   */
  dropCopies?(): Promise<void>;
  /** Labels of the workers that can open it; left out, or `{}`: every worker can. */
  labelsOf?(actor: Address): Labels;
}

export interface Workspace {
  /** absolute path of a folder that exists; valid until `close` */
  readonly path: string;
  /** the version that was opened or saved last; 0 when nothing was saved yet */
  readonly version: number;
  /**
   * Saves the contents of the folder durably as the next version. If nothing has changed, the
   * version stays the same where the provider can detect that. The folder must not be written
   * during the call. May be repeated, also after UNAVAILABLE, when it is unknown whether the
   * version was saved.
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

/** `path`: relative to the workspace. */
export type ListedFile = { readonly path: string; readonly bytes: number };

/** A path within the workspace that is not saved. */
export type LeftOut = { readonly path: string; readonly reason: string };

/** Limits of a workspace's contents, checked when it is saved. */
export type WorkspaceLimits = {
  /** files, links and folders together; default 10,000 */
  readonly entriesMax: number;
  /** bytes of all files together; default 1 GiB */
  readonly bytesMax: number;
  /** bytes of one file; default 100 MiB */
  readonly fileBytesMax: number;
  /** maximum nesting of folders; default 32 */
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
