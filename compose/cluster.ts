/** The processes of a cluster: workers and gateways, on NATS. */
import { rmSync } from 'node:fs';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import type { ChannelHost } from '../channels/messengers/channel-host.ts';
import type { ErasureEffects } from '../protocols/erasure.ts';
import type { RetentionEffects } from '../protocols/retention.ts';
import { serveMetrics } from '../channels/http/metrics.ts';
import {
  bindHost,
  cacheFolder,
  type Config,
  natsOptions,
  nodeName,
} from '../runtime/config/index.ts';
import {
  createSystem,
  openNamedStateCache,
  openNats,
  type PlacementEvent,
  type Pubsub,
  type System,
  systemClock,
} from '../runtime/index.ts';
import { createAgentRegistration } from './a2a.ts';
import type { Workspaces } from '../runtime/workspaces/workspaces.ts';
import { WorkerAnnouncements } from '../actors/root/worker-announcements.ts';
import { shareKeys } from '../installation/cell-keys.ts';
import { watchBackups } from '../installation/backup-parts.ts';
import { watchCertificates } from '../installation/certificate-watch.ts';
import { watchStorage } from '../installation/cell-gauges.ts';
import { lateAsk } from '../agent/late-ask.ts';
import { countTakeover, logPlacement } from '../installation/placement-log.ts';
import { createChannelHost } from './channels.ts';
import { noticesOf, openProcessServices, type ProcessServices } from './process-services.ts';
import { closeAll, once, openGateway } from './gateway.ts';
import { seedCluster, seedTenants } from '../installation/root-settings.ts';
import { noticeSandbox } from '../installation/sandbox-notice.ts';
import { agentNotes } from '../installation/agent-notes.ts';
import { erasureEffectsOf } from '../installation/erasure/erasure.ts';
import { applyPending } from '../installation/erasure/pending.ts';
import { retentionEffectsOf, startRetention } from '../installation/retention/retention.ts';
import { embeddingBatches } from '../installation/embedding-batches.ts';
import { type ConfigOrigin, followConfiguration } from '../installation/live/follow.ts';
import { createSetup } from '../installation/setup/create-setup.ts';
import { SharedParts } from '../installation/shared-parts.ts';
import { openTaskParts, type OwnAgents, type TaskParts } from './task-parts.ts';
import { allServices, closeTools, openMcpServers } from '../installation/tenant-parts.ts';
import { copiesOf, labelsOf, workspacesOf } from '../installation/workspaces.ts';
import packageJson from '../package.json' with { type: 'json' };

/** One process of a cluster. */
export type Node = {
  /** unique per process */
  readonly id: string;
  /** the same after a restart */
  readonly name: string;
  /** of a gateway's page, without a secret */
  readonly url?: string;
  /**
   * Stops in order: a gateway notifies its clients, a worker hands its shards over. May be
   * repeated.
   */
  stop(): Promise<void>;
};

export type NodeOptions = ConfigOrigin & {
  readonly own?: OwnAgents;
  /** aborts a start that is waiting */
  readonly signal: AbortSignal;
  /** receives the reason for waiting for NATS */
  readonly onWait: (what: string) => void;
};

/**
 * Starts a worker of a cluster, which owns shards, runs turns and effects, and opens no port.
 * Resolves when it accepts shards.
 * @throws TroupeError when NATS refuses it; the reason with which `signal` aborted
 */
export async function startWorker(config: Config, options: NodeOptions): Promise<Node> {
  const opened = await openProcessServices(config, true, options.own);
  const processServices = { ...opened, sandbox: noticeSandbox(config, opened.log) };
  const announcements = new WorkerAnnouncements();
  const onEvent = (event: PlacementEvent) => {
    announcements.onPlacementEvent(event);
    countTakeover(processServices.metrics, event);
  };
  const joined = await joinCluster(config, 'worker', processServices, { ...options, onEvent });
  const { system, shards, id, name, tasks } = joined;
  joined.compare();
  processServices.plugins.start();
  openMcpServers(processServices, system, true);
  announcements.open({ system, shards, node: id });
  processServices.disks.onMode((isReadOnly) => system.cordon(id, isReadOnly));
  processServices.metrics.watch(system, { node: id, shards });
  let stopping = false;
  // Its own heartbeat returns through NATS: without it no other process counts on this one.
  const isReady = () => !stopping && system.nodes().some(({ node }) => node === id);
  const metrics = await serveOwnMetrics(config, processServices, isReady).catch(
    async (error: unknown) => {
      await system.stop();
      throw error;
    },
  );
  const following = followConfiguration({ config, system, processServices }, options);
  const registration = createAgentRegistration({ system, processServices, tasks });
  if (config.a2a.enabled) registration.registerWith(DEFAULT_TENANT);
  const stop = async () => {
    stopping = true;
    following.close();
    registration.close();
    await system.stop();
    await joined.channels.close();
    processServices.disks.close();
    await closeTools(processServices);
    await processServices.plugins.close();
    await metrics?.close();
    announcements.close();
  };
  return { id, name, stop: once(stop) };
}

/**
 * Starts a gateway of a cluster: the entry point for clients, with replicas of the rows that they
 * read, and without shards. Resolves when it accepts clients: in a new cluster, after a worker has
 * joined.
 * @throws TroupeError as startWorker, or when the port is in use
 */
export async function startClusterGateway(
  config: Config,
  options: NodeOptions,
): Promise<Node & { readonly url: string }> {
  const processServices = await openProcessServices(config, true, options.own);
  const joined = await joinCluster(config, 'gateway', processServices, options);
  const { system, id, name, pubsub, workspaces } = joined;
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  const following = followConfiguration({ config, system, processServices }, options);
  const stopSystem = async () => {
    following.close();
    left.abort();
    await system.stop();
    processServices.disks.close();
    await closeTools(processServices);
    await processServices.plugins.close();
  };
  try {
    processServices.plugins.start();
    openMcpServers(processServices, system, false);
    const seeded = seedCluster(system, { config, log: processServices.log, signal });
    // A first message must find its agent configured. An older cluster already has its settings.
    if (system.index.get('cluster', DEFAULT_TENANT, 'root') === undefined)
      await untilSeeded(seeded, { system, log: processServices.log, signal: options.signal });
    void seedTenants(system, { config, log: processServices.log, signal });
    options.signal.throwIfAborted();
    const { file } = options;
    const { watch } = following;
    const parts = { config, processServices, system, workspaces, file, watch, clustered: true };
    const setup = createSetup(parts);
    const { erasure, retention } = joined;
    const own = { setup, notes: agentNotes(parts), erasure, retention };
    const services = { ...processServices, ...own };
    const broker = { pubsub, node: id, shards: joined.shards };
    // Before clients may read what a restored cell has to erase.
    await applyPending(system, config.home);
    const gateway = await openGateway(config, system, services, joined, broker);
    void joined.channels.configure(system);
    startRetention({ system, ...processServices });
    joined.compare();
    return { id, name, url: gateway.url, stop: once(() => closeAll(gateway, stopSystem)) };
  } catch (error) {
    await stopSystem();
    throw error;
  }
}

/** After this time a gateway of a new cluster without a worker says that it waits for one. */
const NO_WORKER_NOTICE_MS = 3_000;

type Seeding = Pick<Joined, 'system'> & Pick<ProcessServices, 'log'> & { signal: AbortSignal };

/** Resolves when the agents are set, or when `signal` aborts. */
async function untilSeeded(seeded: Promise<void>, { system, log, signal }: Seeding): Promise<void> {
  const noticing = setTimeout(() => {
    if (!system.nodes().some(({ role }) => role === 'worker'))
      log.warn('waiting for a worker: this cluster is new, start one with `troupe worker`');
  }, NO_WORKER_NOTICE_MS);
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    await Promise.race([seeded, aborted]);
  } finally {
    clearTimeout(noticing);
  }
}

/** If the configuration sets a port for them. */
async function serveOwnMetrics(
  { a2a, gateway }: Config,
  { metrics }: ProcessServices,
  isReady: () => boolean,
): Promise<{ close(): Promise<void> } | undefined> {
  const { metricsPort: port } = a2a;
  const token = gateway.auth.token?.reveal();
  return port === undefined
    ? undefined
    : serveMetrics({
        metrics,
        port,
        host: bindHost({ gateway }),
        token,
        clock: systemClock,
        isReady,
      });
}

type Joining = NodeOptions & { readonly onEvent?: (event: PlacementEvent) => void };

/** Opens the log, the state and the other parts in NATS, and chooses the process name. */
async function openPorts(
  config: Config,
  role: 'worker' | 'gateway',
  { log, metrics }: ProcessServices,
  { signal, onWait }: Joining,
): Promise<{ ports: Awaited<ReturnType<typeof openNats>>; name: string }> {
  const { nats, cluster } = config;
  let name = nodeName(config);
  let joined = false;
  const onStatus = (what: string) => {
    if (joined) log.warn({ nats: true }, what);
    else onWait(what);
  };
  const ports = await openNats({
    ...natsOptions(config),
    name: `troupe ${role} ${name}`,
    env: nats.env,
    shards: cluster.shards,
    replicas: nats.replicas,
    state: async (cell, erasures) => {
      const folderOf = (named: string) => cacheFolder(config, role, named);
      const beforeEmptied = (named: string) => {
        for (const copies of copiesOf(config, `${role}-${named}`))
          rmSync(copies, { recursive: true, force: true });
      };
      const of = { folderOf, cell, erasures, beforeEmptied };
      const cache = await openNamedStateCache(name, of);
      name = cache.name;
      return cache.state;
    },
    onAlarm: (what) => log.warn({ alarm: true }, what),
    onStatus,
    signal,
  });
  joined = true;
  watchCertificates(config, { log, metrics });
  watchBackups(config, ports.store.cell, metrics);
  watchStorage(metrics, () => ports.storage(), nats.storageBytes);
  return { ports, name };
}

type Joined = {
  readonly id: string;
  readonly name: string;
  readonly system: System;
  readonly shards: number;
  readonly pubsub: Pubsub;
  readonly workspaces: Workspaces;
  readonly tasks: TaskParts;
  readonly channels: ChannelHost;
  readonly erasure: ErasureEffects;
  readonly retention: RetentionEffects;
  /** Logs where other processes differ; to be called once a gateway listens. */
  readonly compare: () => void;
};

type OnEvent = (event: PlacementEvent) => void;
const toBoth =
  (first: OnEvent, second: OnEvent | undefined): OnEvent =>
  (event) => {
    first(event);
    second?.(event);
  };

const clusterRules = ({ cluster }: Config) => ({
  version: packageJson.version,
  weight: cluster.weight,
  drainMs: cluster.drainSeconds * 1_000,
  warmCopies: cluster.warmCopies,
});

async function joinCluster(
  config: Config,
  role: 'worker' | 'gateway',
  processServices: ProcessServices,
  options: Joining,
): Promise<Joined> {
  const { log, options: system } = processServices;
  const { ports, name } = await openPorts(config, role, processServices, options);
  try {
    const { blobs, pubsub, shards, cell } = { ...ports, cell: ports.store.cell };
    await shareKeys(config, { blobs, cell, role });
    const tasks = await openTaskParts(config, processServices, options.own, blobs);
    const workspaces = workspacesOf(config, { blobs, cell, node: `${role}-${name}` });
    const channels = createChannelHost(config, processServices, () => opening);
    const retention = retentionEffectsOf(() => opening, { processServices });
    const erasure = erasureEffectsOf(() => opening, { config, processServices, workspaces });
    const opening: Promise<System> = createSystem({
      ...ports,
      ...system,
      services: allServices(processServices, {
        ...tasks.services,
        erasure,
        retention,
        ...(role === 'worker' ? { node: name } : {}),
        ask: lateAsk(() => opening),
        channels,
        embeddingBatches: embeddingBatches({ processServices, workspaces, clustered: true }),
      }),
      workspaces,
      labels: labelsOf(config),
      env: config.nats.env,
      cluster: {
        ...clusterRules(config),
        role,
        name,
        notices: () => noticesOf(processServices),
        onEvent: toBoth(logPlacement(log), options.onEvent),
      },
    });
    const node = await opening;
    const id = node.nodes().find((one) => one.name === name && one.role === role)?.node ?? name;
    const parts = new SharedParts({
      bus: node.bus,
      cell,
      node: id,
      name,
      // Workers receive the address at which gateways serve files.
      ...(role === 'gateway' ? { url: tasks.publicUrl } : { onGateway: tasks.onListen }),
      sealingKid: tasks.sealer.publicJwk.kid,
      artifacts: tasks.services.artifacts,
      onDifference: (what) => log.warn({ alarm: true }, what),
    });
    const compare = () => void parts.open();
    const shared = { shards, pubsub, workspaces, tasks, channels, erasure, retention };
    return { id, name, system: node, ...shared, compare };
  } catch (error) {
    await ports.store.close();
    throw error;
  }
}
