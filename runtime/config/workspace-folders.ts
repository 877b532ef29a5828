/**
 * The folders that a configuration names for the files of agents: `agents.agents[].workspace`, else
 * the folder of its id in `agents.defaults.workspace`. Agents without such a folder have their
 * files where `runtime.workspaces` says.
 *
 * Invariants: one folder belongs to one agent, and no folder contains the data folder. A tenant
 * that inherits the agents of the installation does not inherit their folders.
 */
import { join } from 'node:path';
import { type Address, DEFAULT_TENANT, parseAddress } from '../../protocols/address.ts';
import type { Finding } from './checks/check.ts';
import { childPointer } from './pointer.ts';
import { agentIdPattern } from './schema/agents.ts';
import type { Config } from './schema/schema.ts';
import { ownSections, tenantConfig } from './tenants.ts';

const isAgentId = (text: string): boolean => new RegExp(agentIdPattern).test(text);

const ownsAgents = (config: Config, tenant: string): boolean =>
  tenant === DEFAULT_TENANT || ownSections(config, tenant).includes('agents');

/** Absolute; undefined for an actor whose folder the configuration does not name. */
export function workspaceFolderOf(config: Config, actor: Address): string | undefined {
  const { tenant, type, key } = parseAddress(actor);
  if (type !== 'agent' || !isAgentId(key) || !ownsAgents(config, tenant)) return undefined;
  const { agents, defaults } = tenantConfig(config, tenant).agents;
  const own = agents.find(({ id }) => id === key)?.workspace;
  return own ?? (defaults.workspace && join(defaults.workspace, key));
}

type Named = { readonly pointer: string; readonly folder: string };

/** Folders of listed agents; with none listed, the folder of the defaults. */
export function namedFolders(config: Config): Named[] {
  const places = [DEFAULT_TENANT, ...Object.keys(config.tenants)].filter((tenant) =>
    ownsAgents(config, tenant),
  );
  return places.flatMap((tenant) => {
    const base = tenant === DEFAULT_TENANT ? '' : childPointer('/tenants', tenant);
    const { agents, defaults } = tenantConfig(config, tenant).agents;
    const shared = defaults.workspace;
    const own = agents.flatMap(({ id, workspace }, index): Named[] => {
      const pointer = `${base}/agents/agents/${index}/workspace`;
      if (workspace !== undefined) return [{ pointer, folder: workspace }];
      return shared === undefined ? [] : [{ pointer, folder: join(shared, id) }];
    });
    const rest = { pointer: `${base}/agents/defaults/workspace`, folder: shared ?? '' };
    return shared === undefined || agents.length > 0 ? own : [rest];
  });
}

/** Whether a folder is the other one or in it. */
const isIn = (folder: string, outer: string): boolean => `${folder}/`.startsWith(`${outer}/`);

/** Folders that two agents would share, that contain the data folder, or that cannot be used. */
export function foldersApart(config: Config, tenant?: string): Finding[] {
  if (tenant !== undefined) return [];
  const all = namedFolders(config);
  const isSynced = config.runtime.workspaces.provider === 'synced';
  return all.flatMap(({ pointer, folder }, index): Finding[] => {
    const found = (message: string) => [{ pointer, value: JSON.stringify(folder), message }];
    if (isSynced)
      return found('runtime.workspaces.provider is synced: the files of agents have no folder');
    if (isIn(config.home, folder))
      return found('contains the data folder, which no agent may read: name another folder');
    const other = all
      .slice(0, index)
      .find((one) => isIn(folder, one.folder) || isIn(one.folder, folder));
    return other ? found(`overlaps with ${other.folder} of another agent: each needs its own`) : [];
  });
}
