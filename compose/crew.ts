/** Crew: what every process needs to run actors, whatever form it has. */
import type { Logger } from 'pino';
import type { AgentServices } from '../agent/services.ts';
import type { Tool } from '../agent/tools/tool.ts';
import { rootAddress, shippedActors } from '../actors/index.ts';
import type { Config } from '../runtime/config/index.ts';
import type { System, SystemOptions } from '../runtime/index.ts';
import { createMetrics, type Metrics } from '../runtime/observe/metrics.ts';
import { createLog } from './log.ts';
import { LateBucket } from './node-tools.ts';
import { labelsOf } from './observed.ts';
import { LogRing } from './setup/log-ring.ts';
import { assertStartable } from './start-rules.ts';
import { closeTools, installationParts, type TenantParts, tenantParts } from './tenant-parts.ts';

/** Whoever comes through the doors of this version. */
export const TENANT = 'default';

/** With the parts of the installation, which the tenant `default` and those that inherit have. */
export type Crew = TenantParts & {
  /** parts of tenants that have sections of their own; the others have those above */
  readonly tenants: ReadonlyMap<string, TenantParts>;
  readonly log: Logger;
  /** the last lines of `log` */
  readonly ring: LogRing;
  readonly metrics: Metrics;
  readonly bucket: LateBucket;
  readonly options: Pick<
    SystemOptions,
    | 'actors'
    | 'supervisor'
    | 'limits'
    | 'onAlarm'
    | 'onDeadLetter'
    | 'tenantWeights'
    | 'tenantRunningMax'
  >;
};

/** What a tenant's agents go by: the one way from a tenant to its agents, models and tools. */
export const partsFor = (crew: Pick<Crew, keyof TenantParts | 'tenants'>, tenant: string) =>
  crew.tenants.get(tenant) ?? crew;

/**
 * `clustered`: for a process of a cluster; default false. `ownTools`: beside those that ship.
 * @throws ConfigError as `startRules` say; Error when two tools share a name
 */
export function hire(config: Config, clustered = false, ownTools: readonly Tool[] = []): Crew {
  assertStartable(config);
  const ring = new LogRing();
  const log = createLog(config.log.level, ring);
  const parts = { clustered, ownTools, bucket: new LateBucket() };
  const shared = installationParts(config, parts);
  const { groupTurnsMax, residentsMax, tenantWeights } = config.runtime;
  const metrics = createMetrics();
  return {
    ...shared,
    tenants: tenantParts(config, shared, parts),
    log,
    ring,
    metrics,
    bucket: parts.bucket,
    options: {
      actors: shippedActors(),
      supervisor: rootAddress(TENANT),
      limits: { groupTurnsMax, residentsMax },
      tenantWeights,
      tenantRunningMax: config.a2a.quota.runningMax,
      onAlarm: (what) => log.warn({ alarm: true }, what),
      onDeadLetter: (letter) => metrics.deadLetter(labelsOf(letter)),
    },
  };
}

/** Ends what the tools of all tenants left running. */
export const closeCrew = (crew: Crew): Promise<void> =>
  closeTools([crew, ...crew.tenants.values()]);

/**
 * Messages that tools send. They wait for the system: what a run did when its process died goes on
 * while the system is being opened.
 */
export const askOf =
  (system: () => Promise<Pick<System, 'ask'>>): AgentServices['ask'] =>
  async (to, event, options = {}) =>
    (await system()).ask(to, event, { principal: AGENTS, timeoutMs: ASK_MS, ...options });

/** How long a tool waits for an actor, unless it says otherwise. */
const ASK_MS = 30_000;
const AGENTS = { sub: 'agents', roles: [] };
