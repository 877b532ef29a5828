/** Settings that operators may read and change through the gateway of a process. */
import type { Logger } from 'pino';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import type { Setup } from '../../channels/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type Config, ownSections, resolveAgents } from '../../runtime/config/index.ts';
import { type System, systemClock } from '../../runtime/index.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';
import { currentSettings, START_MS, startRoot, startTenants } from '../root-settings.ts';
import { type InstallationParts, partsFor } from '../tenant-parts.ts';
import type { ConfigWatch } from '../live/config-watch.ts';
import type { LiveConfig } from '../live/live-config.ts';
import { AgentFolders } from './agent-folders.ts';
import { AgentEditor } from './agent-editor.ts';
import { createCatalogs } from './catalogs.ts';
import { ConfigEditor } from './config-editor.ts';
import type { LogRing } from './log-ring.ts';
import { ConfigFile } from './config-file.ts';
import packageJson from '../../package.json' with { type: 'json' };

export type SetupParts = {
  readonly config: Config;
  readonly processServices: InstallationParts & {
    readonly log: Logger;
    /** the latest lines of `log` */
    readonly ring: LogRing;
    readonly live: LiveConfig;
  };
  readonly system: System;
  readonly workspaces: Workspaces;
  /** the configuration file; absent: there was none */
  readonly file?: string | undefined;
  /** notices changes of the file; absent: it cannot be loaded again */
  readonly watch?: ConfigWatch | undefined;
  /** the process is part of a cluster, and the root's settings determine the agents */
  readonly clustered: boolean;
};

/** The setup of each tenant; all tenants share one file, one log and one configuration. */
export const createSetup = (parts: SetupParts): ((tenant: string) => Setup) => {
  const { config, processServices, system, clustered } = parts;
  const { live } = processServices;
  const file = new ConfigFile({ file: parts.file, home: config.home });
  const open = new Map<string, TenantSetup>();
  const configured = (next: Config): void => {
    for (const { agents } of open.values()) agents.configured(next);
  };
  const desk = new ConfigEditor({
    file,
    running: config,
    version: packageJson.version,
    startedAt: now(),
    clustered,
    apply: (next, by) => parts.watch?.written(by) ?? live.fileChanged(next, by),
  });
  live.onChange('agents', async (next, by) => {
    await startRoot(system, resolveAgents(next), START_MS, { by });
    await startTenants(system, next, processServices.log, { by });
    // Last, because a read in between would cache a tenant's old agents for a second.
    configured(next);
  });
  /** Tenants with their own agents keep those that were journaled. */
  const onChange = async (next: Config): Promise<void> => {
    const inherits = (tenant: string) => !ownSections(next, tenant).includes('agents');
    await startTenants(system, next, processServices.log, { isSelected: inherits });
    configured(next);
  };
  return (tenant) => {
    const known = open.get(tenant);
    if (known !== undefined) return known.setup;
    const made = openSetup(tenant, { ...parts, file, desk, onChange });
    open.set(tenant, made);
    return made.setup;
  };
};

type TenantSetup = { readonly setup: Setup; readonly agents: AgentEditor };
type Shared = Omit<SetupParts, 'file'> & {
  readonly file: ConfigFile;
  readonly desk: ConfigEditor;
  readonly onChange: (config: Config) => Promise<void>;
};

const now = (): number => systemClock.wallMs();

const openSetup = (tenant: string, shared: Shared): TenantSetup => {
  const { config: running, processServices, system, workspaces, clustered, file, desk } = shared;
  const { config, fallbackModel, services } = partsFor(processServices, tenant);
  const { catalog, tools } = services;
  const owned = ownSections(running, tenant);
  const isHome = tenant === DEFAULT_TENANT;
  const isKnown = (agentId: string) => agents.cards().some(({ id }) => id === agentId);
  const folders = new AgentFolders({ tenant, config, clustered, workspaces, isKnown });
  const agents = new AgentEditor({
    system,
    tenant,
    running,
    fallbackModel,
    checkModel: (name) => void catalog.resolve(name),
    // Changes of the installation are inherited; changes of another tenant are not.
    onChange: isHome ? shared.onChange : (next) => Promise.resolve(agents.configured(next)),
    folders,
    file,
    desk,
    clustered,
    now,
  });
  const settingsOf = async (agentId: string) => {
    const settings = await currentSettings(system, tenant);
    const found = settings.find((one) => one.agentId === agentId);
    if (found) return found;
    throw new TroupeError('NOT_FOUND', `unknown agent id "${agentId.slice(0, 80)}"`);
  };
  const setup: Setup = {
    ownsAgents: isHome || owned.includes('agents'),
    agents: {
      cards: () => agents.cards(),
      create: (params, by) => agents.create(params, by),
      update: (params, by) => agents.update(params, by),
      remove: (params, by) => agents.remove(params, by),
      files: (agentId) => folders.files(agentId),
      file: (agentId, name) => folders.file(agentId, name),
      write: (agentId, name, content) => folders.write(agentId, name, content),
    },
    config: desk,
    catalogs: createCatalogs({
      tenant,
      config,
      inheritsSkills: !isHome && !owned.includes('skills'),
      catalog,
      tools,
      workspaces,
      inUse: () => agents.cards().flatMap(({ model, fallbacks }) => [model, ...fallbacks]),
      settingsOf,
      workspaceName: (agentId) => folders.nameOf(agentId),
      now,
    }),
    logs: processServices.ring,
    folder: running.home,
  };
  return { setup, agents };
};
