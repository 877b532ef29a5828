/**
 * `troupe agent workspace`: prints the folder of an agent's files, so that an operator can add
 * AGENTS.md and similar files. It connects to no gateway. `troupe agent prompt` uses the same
 * functions to find the folder.
 */
import { address, DEFAULT_TENANT } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  type Config,
  defaultAgent,
  makeFolder,
  natsServers,
  resolveAgents,
} from '../../runtime/config/index.ts';
import { filesFolder } from '../../installation/workspaces.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant, type TenantOptions } from '../options.ts';
import { printJson } from '../output.ts';

export type AgentWorkspaceOptions = TenantOptions & { readonly agent?: string };

/** Prints the folder. */
export async function agentWorkspace(options: AgentWorkspaceOptions): Promise<number> {
  const { agentId, folder } = await agentFolder(options);
  if (options.json) printJson({ agentId, folder });
  else process.stdout.write(`${folder}\n`);
  return exitCodes.ok;
}

/**
 * Creates the folder where troupe itself would, but not on a volume of a cluster.
 *
 * @throws TroupeError INVALID_ARGUMENT for an unknown agent; CONFLICT when its workspace is no
 *   folder
 */
export async function agentFolder(
  options: AgentWorkspaceOptions,
): Promise<{ readonly agentId: string; readonly folder: string }> {
  const { config } = await loadForTenant(options);
  const agentId = options.agent ?? defaultAgent(config).id;
  const known = resolveAgents(config).map(({ id }) => id);
  if (!known.includes(agentId)) {
    const message = `unknown agent ${agentId}; available: ${known.join(', ')}`;
    throw new TroupeError('INVALID_ARGUMENT', message);
  }
  const agent = address(options.tenant ?? DEFAULT_TENANT, 'agent', agentId);
  const folder = filesFolder(config, agent, isClustered(config));
  if (folder === undefined) throw notAFolder(agentId);
  if (!isClustered(config)) makeFolder(folder);
  return { agentId, folder };
}

export const isClustered = (config: Config): boolean => natsServers(config.nats).length > 0;

/** Explains what to do instead. */
export const notAFolder = (agentId: string) =>
  new TroupeError(
    'CONFLICT',
    `the workspace of ${agentId} is in the store and has no folder ` +
      '(runtime.workspaces.provider is synced): ask the agent to write the file, or put ' +
      'workspaces on a shared volume with the provider folder',
  );
