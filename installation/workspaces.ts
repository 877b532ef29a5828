/** Selects where the files of actors are stored, by configuration and kind of process. */
import { join } from 'node:path';
import { type Address, parseAddress } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { LOCALITY_LABEL } from '../protocols/locality.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import {
  type Config,
  namedFolders,
  showPointer,
  tenantConfig,
  workspaceFolderOf,
} from '../runtime/config/index.ts';
import type { Labels } from '../runtime/labels.ts';
import { folderWorkspaces } from '../runtime/workspaces/folder.ts';
import { folderNameOf } from '../runtime/workspaces/name.ts';
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
    list: (actor, folder) => of(actor).list(actor, folder),
    labelsOf: (actor) => of(actor).labelsOf?.(actor) ?? {},
    dropVersions: async (actor) => of(actor).dropVersions?.(actor),
    async dropCopies() {
      for (const each of [shared, ...own.values()]) await each.dropCopies?.();
    },
  };
}

/**
 * Folders of a process of a cluster with copies of workspaces, which are there only between uses.
 */
export function copiesOf(config: Config, node: string): readonly string[] {
  const own = Object.keys(config.tenants).filter(
    (tenant) => config.tenants[tenant]?.workspaces !== undefined,
  );
  return [config, ...own.map((tenant) => tenantConfig(config, tenant))]
    .filter(({ runtime }) => providerOf(runtime.workspaces, true) === 'synced')
    .map((each) => join(workspacesRoot(each), node));
}

/**
 * The folder of an actor's files on this machine; undefined where workspaces are synchronized
 * copies: a change of a copy would be lost.
 */
export const filesFolder = (
  config: Config,
  actor: Address,
  clustered: boolean,
): string | undefined =>
  staysInPlace(config, clustered)
    ? (workspaceFolderOf(config, actor) ??
      join(workspacesRoot(config), folderNameOf(actor), 'files'))
    : undefined;

/** The location of the workspace folders, or of the local copies. */
const workspacesRoot = ({ home, runtime: { workspaces } }: Config): string =>
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
  const filesOf = (actor: Address) => workspaceFolderOf(config, actor);
  if (provider === 'pinned')
    return pinnedWorkspaces({
      root,
      cell,
      blobs,
      tenant,
      filesOf,
      labels: labelsOf(config),
      labelsOf: pinsOf(workspaces),
    });
  if (provider === 'folder')
    return folderWorkspaces({ root, cell, filesOf, create: node === undefined });
  refuseFolders(config);
  return syncedWorkspaces({ blobs, cell, cacheFolder: join(root, node ?? 'local') });
}

/** @throws TroupeError INVALID_ARGUMENT: a named folder would not be used */
function refuseFolders(config: Config): void {
  const [named] = namedFolders(config);
  if (named === undefined) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${showPointer(named.pointer)} names the folder ${named.folder}, but in this cluster workspaces ` +
      'are synchronized copies: set runtime.workspaces.provider to folder (a volume that all ' +
      'workers mount) or pinned, or remove the key',
  );
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
