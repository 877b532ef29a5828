/** Selects where the files of actors are stored, by configuration and kind of process. */
import { join } from 'node:path';
import { type Address, parseAddress } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import { type Config, tenantConfig } from '../runtime/config/index.ts';
import { type Labels, LOCALITY_LABEL } from '../runtime/labels.ts';
import { folderWorkspaces } from '../runtime/workspaces/folder.ts';
import { pinnedWorkspaces } from '../runtime/workspaces/pinned.ts';
import { syncedWorkspaces } from '../runtime/workspaces/synced.ts';
import type { Workspaces } from '../runtime/workspaces/workspaces.ts';

export type WorkspacesFor = {
  readonly blobs: Blobs;
  readonly cell: string;
  /** of a process of a cluster; absent for a single process */
  readonly node?: string;
};

/**
 * The workspaces of all tenants. The files of a tenant with its own path are only there. The folder
 * of a single process is created. A folder that several machines share must exist: an empty folder
 * in its place would be a volume that is not mounted.
 */
export function workspacesOf(config: Config, options: WorkspacesFor): Workspaces {
  const shared = workspacesIn(config, options);
  const own = new Map<string, Workspaces>();
  for (const tenant of Object.keys(config.tenants))
    if (config.tenants[tenant]?.workspaces !== undefined)
      own.set(tenant, workspacesIn(tenantConfig(config, tenant), options, tenant));
  if (own.size === 0) return shared;
  const of = (actor: Address): Workspaces => own.get(parseAddress(actor).tenant) ?? shared;
  return {
    open: (actor, how) => of(actor).open(actor, how),
    peek: (actor, ...about) => of(actor).peek(actor, ...about),
    labelsOf: (actor) => of(actor).labelsOf?.(actor) ?? {},
  };
}

/** The location of the workspace folders, or of the local copies. */
export const workspacesRoot = ({ home, runtime: { workspaces } }: Config): string =>
  workspaces.path ?? join(home, 'workspaces');

/** @param tenant if it has its own location */
function workspacesIn(
  config: Config,
  { blobs, cell, node }: WorkspacesFor,
  tenant = '',
): Workspaces {
  const { workspaces } = config.runtime;
  const provider = providerOf(workspaces, node !== undefined);
  const root = workspacesRoot(config);
  if (provider === 'pinned')
    return pinnedWorkspaces({
      root,
      cell,
      blobs,
      tenant,
      labels: labelsOf(config),
      labelsOf: pinsOf(workspaces),
    });
  return provider === 'folder'
    ? folderWorkspaces({ root, cell, create: node === undefined })
    : syncedWorkspaces({ blobs, cell, cacheFolder: join(root, node ?? 'local') });
}

/**
 * Whether an agent's folder persists after it was closed, so that a command may continue in it in
 * the background. A synchronized folder is a copy.
 */
export const staysInPlace = ({ runtime: { workspaces } }: Config, clustered: boolean): boolean =>
  providerOf(workspaces, clustered) !== 'synced';

const providerOf = (
  { provider }: Config['runtime']['workspaces'],
  clustered: boolean,
): 'folder' | 'synced' | 'pinned' => provider ?? (clustered ? 'synced' : 'folder');

/** The labels and the location of this process. */
export const labelsOf = ({ cluster, a2a }: Pick<Config, 'cluster' | 'a2a'>): Labels => ({
  ...defined({ [LOCALITY_LABEL]: a2a.locality }),
  ...cluster.labels,
});

/** An agent's labels determine the location of its workspace; other actors use the common one. */
const pinsOf =
  ({ labels, agents }: Config['runtime']['workspaces']) =>
  (actor: Address): Labels => {
    const { type, key } = parseAddress(actor);
    return type === 'agent' && Object.hasOwn(agents, key) ? agents[key]! : labels;
  };
