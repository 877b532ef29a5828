/** What people may look at and change through the gateway of a process, put together. */
import type { Setup } from '../../channels/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Config } from '../../runtime/config/index.ts';
import { type System, systemClock } from '../../runtime/index.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';
import type { Crew } from '../crew.ts';
import { currentSettings, startTenants } from '../settings.ts';
import { tenancyOf } from '../tenants.ts';
import { AgentFolders } from './agent-files.ts';
import { AgentDesk } from './agents.ts';
import { createCatalogs } from './catalogs.ts';
import { ConfigDesk } from './config.ts';
import { ConfigFile } from './config-file.ts';
import packageJson from '../../package.json' with { type: 'json' };

export type SetupParts = {
  readonly config: Config;
  readonly crew: Crew;
  readonly system: System;
  readonly workspaces: Workspaces;
  /** the configuration's; absent: there was none */
  readonly file?: string | undefined;
  /** there are other processes, and the root's settings say what agents there are */
  readonly clustered: boolean;
};

export const createSetup = (parts: SetupParts): Setup => {
  const { config, crew, system, workspaces, clustered } = parts;
  const { catalog, tools } = crew.services;
  const now = () => systemClock.wallMs();
  const file = new ConfigFile({ file: parts.file, home: config.home });
  const isKnown = (agentId: string) => agents.cards().some(({ id }) => id === agentId);
  const folders = new AgentFolders({ config, clustered, workspaces, isKnown });
  const desk = new ConfigDesk({
    file,
    running: config,
    version: packageJson.version,
    startedAt: now(),
    ...(clustered ? {} : { applyAgents: (next: Config) => agents.apply(next) }),
  });
  const agents = new AgentDesk({
    system,
    running: config,
    fallbackModel: crew.fallbackModel,
    checkModel: (name) => void catalog.resolve(name),
    tellTenants: (others) =>
      startTenants(system, { agents: others, log: crew.log }, tenancyOf(config).tenants),
    folders,
    file,
    desk,
    clustered,
    now,
  });
  const settingsOf = async (agentId: string) => {
    const found = (await currentSettings(system)).find((one) => one.agentId === agentId);
    if (found) return found;
    throw new TroupeError('NOT_FOUND', `unknown agent id "${agentId.slice(0, 80)}"`);
  };
  return {
    agents: {
      cards: () => agents.cards(),
      create: (params) => agents.create(params),
      update: (params) => agents.update(params),
      remove: (params) => agents.remove(params),
      files: (agentId) => folders.files(agentId),
      file: (agentId, name) => folders.file(agentId, name),
      write: (agentId, name, content) => folders.write(agentId, name, content),
    },
    config: desk,
    catalogs: createCatalogs({
      config,
      catalog,
      tools,
      workspaces,
      inUse: () => agents.cards().flatMap(({ model, fallbacks }) => [model, ...fallbacks]),
      settingsOf,
      workspaceName: (agentId) => folders.nameOf(agentId),
      now,
    }),
    logs: crew.ring,
    folder: config.home,
  };
};
