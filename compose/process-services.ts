/** What every process needs to run actors: embedded, worker or gateway. */
import type { RetentionEffects } from '../protocols/retention.ts';
import type { Logger } from 'pino';
import { rootAddress, shippedActors } from '../actors/index.ts';
import type { Plugins } from '../agent/plugins/open-plugins.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { Setup } from '../channels/index.ts';
import {
  NO_PLUGINS,
  openInstallationPlugins,
  watchPlugins,
} from '../installation/installation-plugins.ts';
import { watchMachine } from '../installation/cell-gauges.ts';
import { withHooks } from '../installation/hooked-parts.ts';
import { Late } from '../installation/late.ts';
import { mcpReportsTo } from '../installation/mcp-servers.ts';
import { watchMemory } from '../installation/memory-options.ts';
import { type DiskWatch, watchDisks } from '../installation/disk/disk-watch.ts';
import { type ClockJumps, watchClock } from '../installation/clock-jumps.ts';
import { createLog } from '../installation/process-log.ts';
import { LogRing } from '../installation/setup/log-ring.ts';
import type { SandboxNotice } from '../installation/sandbox-notice.ts';
import { LiveConfig } from '../installation/live/live-config.ts';
import { assertStartable } from '../installation/start-rules.ts';
import { replaceTalkRules } from '../installation/talk-rules.ts';
import { type InstallationParts, installationParts } from '../installation/tenant-parts.ts';
import type { OperationServices } from '../operations/operation.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { type Config, tenantConfig } from '../runtime/config/index.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import { type Artifacts, type SystemOptions, systemClock } from '../runtime/index.ts';
import { createMetrics, type Metrics } from '../runtime/observe/metrics.ts';
import { deadLetterLabels } from '../runtime/observe/dead-letter-labels.ts';

export type ProcessServices = InstallationParts & {
  readonly log: Logger;
  /** the configuration in effect */
  readonly live: LiveConfig;
  /** the latest lines of `log` */
  readonly ring: LogRing;
  readonly metrics: Metrics;
  readonly disks: DiskWatch;
  readonly clockJumps: ClockJumps;
  readonly sandbox: SandboxNotice;
  /** code of others; started and stopped with the process */
  readonly plugins: Plugins;
  readonly bucket: Late<Artifacts>;
  /** of the store that the process opens or the cell that it joins */
  readonly blobs: Late<Blobs>;
  readonly options: Pick<
    SystemOptions,
    | 'actors'
    | 'supervisor'
    | 'limits'
    | 'onAlarm'
    | 'refusalOf'
    | 'holdsTimersOf'
    | 'onDeadLetter'
    | 'tenantWeights'
    | 'history'
    | 'tenantRunningMax'
    | 'tidiesDeadLetters'
  >;
};

/** Includes what operators can read and change through the gateway, by tenant. */
export type GatewayServices = ProcessServices & {
  readonly setup?: (tenant: string) => Setup;
  readonly notes?: OperationServices['notes'];
  readonly erasure?: OperationServices['erasure'];
  readonly retention?: RetentionEffects;
  /** called for each connection that the gateway accepts */
  readonly onConnection?: () => void;
};

/** Parts in addition to the built-in ones. */
export type OwnParts = {
  readonly tools?: readonly Tool[];
  readonly actors?: SystemOptions['actors'];
  readonly plugins?: Plugins;
  readonly logging?: Logging;
};

/** Of a process that runs no commands. */
const NO_NOTICE: SandboxNotice = { fault: () => undefined };

type Logging = Pick<ProcessServices, 'log' | 'ring'>;

const loggingOf = (config: Config): Logging => {
  const ring = new LogRing();
  return { ring, log: createLog(config.log.level, ring) };
};

/**
 * @param clustered whether the process is part of a cluster
 * @throws ConfigError if the configuration violates `startRules`; Error if two tools share a name
 */
export function createProcessServices(
  config: Config,
  clustered = false,
  own: OwnParts = {},
): ProcessServices {
  const { tools = [], actors = [], plugins = NO_PLUGINS, logging = loggingOf(config) } = own;
  assertStartable(config);
  const { log } = logging;
  const bucket = new Late<Artifacts>();
  const blobs = new Late<Blobs>();
  const metrics = createMetrics();
  watchMachine(metrics, config);
  const ownTools = [...tools, ...plugins.tools];
  const { providers } = plugins;
  const { groupTurnsMax, residentsMax, history } = config.runtime;
  const parts = installationParts(config, {
    clustered,
    ownTools,
    providers,
    bucket: bucket.value,
    blobs: blobs.value,
    onMcpReport: mcpReportsTo(log),
  });
  watchMemory(
    [parts, ...parts.tenants.values()].map(({ memory }) => memory),
    metrics,
  );
  const live = liveConfig(config, { parts, clustered, log });
  const disks = watchDisks(config, { log, metrics });
  live.onChange('process', (now) => disks.configured(now));
  return {
    ...parts,
    ...logging,
    live,
    disks,
    clockJumps: watchClock(systemClock, { log, metrics }),
    sandbox: NO_NOTICE,
    plugins,
    metrics,
    bucket,
    blobs,
    options: {
      actors: [...shippedActors(), ...actors],
      supervisor: rootAddress(DEFAULT_TENANT),
      limits: { groupTurnsMax, residentsMax },
      tenantWeights: () => live.now.runtime.tenantWeights,
      history,
      tenantRunningMax: () => live.now.a2a.quota.runningMax,
      refusalOf: disks.refusalOf,
      holdsTimersOf: disks.holdsTimersOf,
      onAlarm: (what) => log.warn({ alarm: true }, what),
      tidiesDeadLetters: false,
      onDeadLetter: (letter) => metrics.deadLetter(deadLetterLabels(letter)),
    },
  };
}

/** With the parts of every process that follow it. */
function liveConfig(
  config: Config,
  { parts, clustered, log }: { parts: InstallationParts; clustered: boolean; log: Logger },
): LiveConfig {
  const live = new LiveConfig({ config, clustered, log });
  live.onChange('process', (now) => {
    log.level = now.log.level;
    replaceTalkRules(parts.services.talk, now);
    for (const [tenant, { services }] of parts.tenants)
      replaceTalkRules(services.talk, tenantConfig(now, tenant));
  });
  return live;
}

/** What operators should know about the process, in a sentence each. */
export const noticesOf = ({
  disks,
  clockJumps,
  sandbox,
}: Pick<ProcessServices, 'disks' | 'clockJumps' | 'sandbox'>): readonly string[] =>
  [disks.fault(), clockJumps.fault(), sandbox.fault()].filter((text) => text !== undefined);

/**
 * Includes the plugins, which are not started, and the hooks of the installation.
 * @throws as createProcessServices and openHooks
 */
export async function openProcessServices(
  config: Config,
  clustered: boolean,
  { tools = [], actors = [] }: Pick<OwnParts, 'tools' | 'actors'> = {},
): Promise<ProcessServices> {
  assertStartable(config);
  const logging = loggingOf(config);
  const plugins = await openInstallationPlugins(config, tools, logging.log);
  const own = { tools, actors, plugins, logging };
  return withCountedHooks(config, createProcessServices(config, clustered, own));
}

/** Counts failures, if there are hooks. */
async function withCountedHooks(
  config: Config,
  processServices: ProcessServices,
): Promise<ProcessServices> {
  const { log, metrics, plugins } = processServices;
  let failures = 0;
  const all = await withHooks(config, processServices, {
    plugins,
    log,
    onFailure: () => void failures++,
  });
  if ([all, ...all.tenants.values()].some(({ services }) => services.hooks.names().length > 0))
    metrics.gauge(
      'troupe_hook_failures',
      'Hooks of this process that threw, timed out or returned an invalid value, since its start',
      () => failures,
    );
  watchPlugins(plugins, metrics);
  return all;
}
