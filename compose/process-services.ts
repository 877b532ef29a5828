/** What every process needs to run actors: embedded, worker or gateway. */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import type { Logger } from 'pino';
import type { AgentServices } from '../agent/services.ts';
import type { Tool } from '../agent/tools/tool.ts';
import { rootAddress, shippedActors } from '../actors/index.ts';
import type { Setup } from '../channels/index.ts';
import type { AgentNames } from '../operations/sessions/session-key.ts';
import { type Config, defaultAgent } from '../runtime/config/index.ts';
import type { System, SystemOptions } from '../runtime/index.ts';
import { createMetrics, type Metrics } from '../runtime/observe/metrics.ts';
import { createLog } from '../installation/process-log.ts';
import { LateBucket } from './node-tools.ts';
import { labelsOf } from './observed.ts';
import { LogRing } from '../installation/log-ring.ts';
import { assertStartable } from '../installation/start-rules.ts';
import { closeTools, installationParts, type TenantParts, tenantParts } from './tenant-parts.ts';

/** Includes the parts of the installation, used by the default tenant and tenants that inherit. */
export type ProcessServices = TenantParts & {
  /** parts of tenants that have their own configuration sections */
  readonly tenants: ReadonlyMap<string, TenantParts>;
  readonly log: Logger;
  /** the latest lines of `log` */
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
    | 'history'
    | 'tenantRunningMax'
  >;
};

/** The agents, models and tools of a tenant. All code finds them with this function. */
export const partsFor = (
  processServices: Pick<ProcessServices, keyof TenantParts | 'tenants'>,
  tenant: string,
) => processServices.tenants.get(tenant) ?? processServices;

/** Includes what operators can read and change through the gateway, by tenant. */
export type GatewayServices = ProcessServices & { readonly setup?: (tenant: string) => Setup };

/** The agents of a tenant now: operators may create others at any time. */
export function agentNames(processServices: GatewayServices, tenant: string): AgentNames {
  const { config, agents, fallbackModel } = partsFor(processServices, tenant);
  const configured = agents.map(({ id, model }) => ({ id, model: model ?? fallbackModel }));
  // A request may name any tenant: only those of the configuration have settings to keep.
  const hasSettings =
    tenant === DEFAULT_TENANT || Object.hasOwn(processServices.config.tenants, tenant);
  const setup = hasSettings ? processServices.setup?.(tenant) : undefined;
  return {
    defaultAgentId: defaultAgent(config).id,
    mainKey: config.session.mainKey,
    get agents() {
      return setup?.agents.cards() ?? configured;
    },
  };
}

/**
 * @param clustered whether the process is part of a cluster
 * @param ownTools tools in addition to the built-in ones
 * @throws ConfigError if the configuration violates `startRules`; Error if two tools share a name
 */
export function createProcessServices(
  config: Config,
  clustered = false,
  ownTools: readonly Tool[] = [],
): ProcessServices {
  assertStartable(config);
  const ring = new LogRing();
  const log = createLog(config.log.level, ring);
  const parts = { clustered, ownTools, bucket: new LateBucket() };
  const shared = installationParts(config, parts);
  const { groupTurnsMax, residentsMax, tenantWeights, history } = config.runtime;
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
      supervisor: rootAddress(DEFAULT_TENANT),
      limits: { groupTurnsMax, residentsMax },
      tenantWeights,
      history,
      tenantRunningMax: config.a2a.quota.runningMax,
      onAlarm: (what) => log.warn({ alarm: true }, what),
      onDeadLetter: (letter) => metrics.deadLetter(labelsOf(letter)),
    },
  };
}

/** Ends background commands, browsers and other resources of the tools of all tenants. */
export const closeProcessServices = (processServices: ProcessServices): Promise<void> =>
  closeTools([processServices, ...processServices.tenants.values()]);

/**
 * Sends messages for tools. It waits until the system is open, because interrupted runs resume
 * while the system is still opening.
 */
export const askOf =
  (system: () => Promise<Pick<System, 'ask'>>): AgentServices['ask'] =>
  async (to, event, options = {}) =>
    (await system()).ask(to, event, { principal: AGENTS, timeoutMs: ASK_MS, ...options });

/** Default time that a tool waits for an actor's reply. */
const ASK_MS = 30_000;
const AGENTS = { sub: 'agents', roles: [] };
