/** All of troupe in one process, on its embedded store. */
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import { defined } from '../protocols/defined.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { rootAddress } from '../actors/index.ts';
import { errorData, type TroupeError } from '../protocols/errors.ts';
import { type Config, storeFolder } from '../runtime/config/index.ts';
import { AcceptFirst, createSystem, openEmbedded, type System } from '../runtime/index.ts';
import { lateAsk } from '../agent/late-ask.ts';
import { createChannelHost } from './channels.ts';
import { openProcessServices, type ProcessServices } from './process-services.ts';
import { closeAll, once, openGateway } from './gateway.ts';
import { watchBackups } from '../installation/backup-parts.ts';
import { noticeSandbox } from '../installation/sandbox-notice.ts';
import { agentNotes } from '../installation/agent-notes.ts';
import { erasureEffectsOf, type ErasureParts } from '../installation/erasure/erasure.ts';
import { applyPending } from '../installation/erasure/pending.ts';
import {
  retentionEffectsOf,
  type RetentionParts,
  startRetention,
} from '../installation/retention/retention.ts';
import { embeddingBatches } from '../installation/embedding-batches.ts';
import { type ConfigOrigin, followConfiguration } from '../installation/live/follow.ts';
import { createSetup } from '../installation/setup/create-setup.ts';
import { openTaskParts, type OwnAgents } from './task-parts.ts';
import { labelsOf, workspacesOf } from '../installation/workspaces.ts';
import { START_MS, startRoot, startTenants } from '../installation/root-settings.ts';
import packageJson from '../package.json' with { type: 'json' };
import { allServices, closeTools, openMcpServers } from '../installation/tenant-parts.ts';

export type Troupe = {
  /** of the page, without a secret */
  readonly url: string;
  readonly system: System;
  /**
   * Resolves when the store failed: everything is refused then, nothing accepted is lost, and the
   * process has to be started again. Never rejects.
   */
  readonly failed: Promise<TroupeError>;
  /**
   * Notifies clients, accepts nothing new, commits running turns, closes the stores. May be
   * repeated.
   */
  stop(): Promise<void>;
};

/**
 * @throws TroupeError when the data folder or the port is in use; everything opened before is
 *   closed
 */
export async function startTroupe(
  config: Config,
  own: OwnAgents = {},
  origin: ConfigOrigin = {},
): Promise<Troupe> {
  const opened = await openProcessServices(config, false, own);
  const processServices = { ...opened, sandbox: noticeSandbox(config, opened.log) };
  const tasks = await openTaskParts(config, processServices, own);
  const { ports, onConnection } = await openStore(config, processServices.options);
  processServices.blobs.open(ports.blobs);
  watchBackups(config, ports.store.cell, processServices.metrics);
  const workspaces = workspacesOf(config, { blobs: ports.blobs, cell: ports.store.cell });
  const channels = createChannelHost(config, processServices, () => opening);
  const removal = removalOf(() => opening, { config, processServices, workspaces });
  const opening: Promise<System> = createSystem({
    ...ports,
    ...processServices.options,
    services: allServices(processServices, {
      ...tasks.services,
      ask: lateAsk(() => opening),
      channels,
      ...removal,
      embeddingBatches: embeddingBatches({ processServices, workspaces, clustered: false }),
    }),
    shards: config.runtime.shards,
    version: packageJson.version,
    workspaces,
    labels: labelsOf(config),
  });
  const system = await opening;
  const following = followConfiguration({ config, system, processServices }, origin);
  const stopSystem = async () => {
    following.close();
    const root = rootAddress(DEFAULT_TENANT);
    await system.tell(root, { type: 'root.drain' }, { principal: SYSTEM_PRINCIPAL });
    await system.stop();
    await channels.close();
    processServices.disks.close();
    await closeTools(processServices);
    await processServices.plugins.close();
  };
  try {
    processServices.plugins.start();
    openMcpServers(processServices, system, true);
    await startActors(system, config, processServices);
    await channels.configure(system);
    const { file } = origin;
    const { watch } = following;
    const parts = { config, processServices, system, workspaces, file, watch, clustered: false };
    const setup = createSetup(parts);
    const notes = agentNotes(parts);
    const services = { ...processServices, setup, notes, ...removal, onConnection };
    const gateway = await openGateway(config, system, services, { tasks, channels });
    const stop = once(() => closeAll(gateway, stopSystem));
    return { url: gateway.url, system, failed: ports.store.failed, stop };
  } catch (error) {
    await stopSystem();
    throw error;
  }
}

const removalOf = (opening: () => Promise<System>, parts: ErasureParts & RetentionParts) => ({
  erasure: erasureEffectsOf(opening, parts),
  retention: retentionEffectsOf(opening, parts),
});

/** Connections are accepted before the work that the first of them cause continues. */
async function openStore(config: Config, { onAlarm }: ProcessServices['options']) {
  const { accepted: onConnection, atTurnEnd } = new AcceptFirst();
  const { durability } = config.runtime;
  const path = storeFolder(config);
  const ports = await openEmbedded({ path, durability, atTurnEnd, ...defined({ onAlarm }) });
  return { ports, onConnection };
}

/**
 * Before entry points open, because a first message must find its agent configured, and no client
 * may read what a restored folder has to erase. A root that is out of service does not prevent the
 * start: entry points report the problem, and everything that does not need the root works.
 */
async function startActors(
  system: System,
  config: Config,
  { agents, log, live }: Pick<ProcessServices, 'agents' | 'log' | 'live'>,
): Promise<void> {
  await startRoot(system, agents, START_MS).catch((error: unknown) =>
    log.error({ alarm: true }, errorData(error).message),
  );
  await startTenants(system, config, log);
  await applyPending(system, config.home);
  startRetention({ system, live, log });
}
