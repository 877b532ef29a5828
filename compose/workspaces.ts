/** Where the files of actors are kept, by configuration and by the form of the process. */
import { join } from 'node:path';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import type { Config } from '../runtime/config/index.ts';
import { folderWorkspaces } from '../runtime/workspaces/folder.ts';
import { syncedWorkspaces } from '../runtime/workspaces/synced.ts';
import type { Workspaces } from '../runtime/workspaces/workspaces.ts';

export type WorkspacesFor = {
  readonly blobs: Blobs;
  readonly cell: string;
  /** of a process of a cluster; absent when there is one process only */
  readonly node?: string;
};

/**
 * A folder of one process can be made. One that several machines share must be there already: an
 * empty folder in its place would be a volume that is not mounted.
 */
export function workspacesOf(
  { home, runtime: { workspaces } }: Config,
  { blobs, cell, node }: WorkspacesFor,
): Workspaces {
  const provider = providerOf(workspaces, node !== undefined);
  const root = workspaces.path ?? join(home, 'workspaces');
  return provider === 'folder'
    ? folderWorkspaces({ root, cell, create: node === undefined })
    : syncedWorkspaces({ blobs, cell, cacheFolder: join(root, node ?? 'local') });
}

/**
 * Whether an agent's folder stays what it is after it was closed, so that a command may go on in it
 * in the background. A synced one is a copy.
 */
export const staysInPlace = ({ runtime: { workspaces } }: Config, clustered: boolean): boolean =>
  providerOf(workspaces, clustered) === 'folder';

const providerOf = (
  { provider }: Config['runtime']['workspaces'],
  clustered: boolean,
): 'folder' | 'synced' => provider ?? (clustered ? 'synced' : 'folder');
