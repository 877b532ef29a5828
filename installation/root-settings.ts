/**
 * Sends the agents of a configuration to the root actor, which journals their settings and
 * configures the agents. An embedded process does this at every start; a cluster once, when it is
 * new, and later by `troupe config apply`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { shippedActors } from '../actors/index.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import type { AgentSettings } from '../protocols/agent.ts';
import { errorData, TroupeError } from '../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import { rootAddress, type RootStarted } from '../protocols/supervision.ts';
import { createRegistry } from '../runtime/actor/registry.ts';
import { CellFormat } from '../runtime/cell-format.ts';
import {
  type Config,
  type ResolvedAgent,
  resolveAgents,
  tenantConfig,
} from '../runtime/config/index.ts';
import { MessageClient, type MessageClientOptions } from '../runtime/message-client.ts';
import { type System, type SystemOptions, systemClock } from '../runtime/index.ts';
import { settingsOf } from './agent-settings.ts';

/** Time for the root to configure all agents. */
export const START_MS = 30_000;
/** Time for one attempt to seed a cluster, whose workers may still be starting. */
const SEED_TIMEOUT_MS = 60_000;
const SEED_PAUSE_MS = 1_000;

type Ask = Pick<System, 'ask'>;
type Log = {
  warn(message: string): void;
  error(facts: object, message: string): void;
};
type StartOptions = {
  /** only a root that has no settings yet accepts these */
  readonly seed?: true;
  /** default: the default tenant */
  readonly tenant?: string;
  /** who changes the agents, for the record; default `start` */
  readonly by?: string;
};

/**
 * Resolves when the root has configured the agents.
 * @throws TroupeError when the root refuses, or does not answer within `timeoutMs`
 */
export const startRoot = (
  system: Ask,
  agents: readonly ResolvedAgent[],
  timeoutMs: number,
  options: StartOptions = {},
): Promise<RootStarted> =>
  startRootWithSettings(system, agents.map(settingsOf), timeoutMs, options);

/** The settings that the root has journaled; [] for a root without settings. @throws TroupeError */
export const currentSettings = async (
  system: Ask,
  tenant = DEFAULT_TENANT,
): Promise<readonly AgentSettings[]> => {
  const { settings } = await startRootWithSettings(system, [], START_MS, { seed: true, tenant });
  return settings;
};

/** Like `startRoot`, for settings instead of agents of a configuration. @throws TroupeError */
export async function startRootWithSettings(
  { ask }: Ask,
  agents: readonly AgentSettings[],
  timeoutMs: number,
  { tenant = DEFAULT_TENANT, ...seed }: StartOptions = {},
): Promise<RootStarted> {
  const event = { type: 'root.start', agents, ...seed };
  const answer = await ask(rootAddress(tenant), event, {
    principal: SYSTEM_PRINCIPAL,
    timeoutMs,
    ttlMs: timeoutMs,
  });
  if (answer.kind === 'answered') return answer.result as RootStarted;
  const refused = answer.kind === 'refused';
  const why = refused ? answer.error.message : `no answer within ${timeoutMs / 1_000} s`;
  throw new TroupeError(
    refused ? answer.error.code : 'DEADLINE_EXCEEDED',
    `the root actor did not start, agents keep their previous settings: ${why}`,
  );
}

type TenantsOptions = {
  /** restricts it to some tenants */
  readonly isSelected?: (tenant: string) => boolean;
  /** who changes the agents */
  readonly by?: string;
};

/**
 * Starts the roots of all tenants but the default one with the agents of the configuration. A
 * failure is logged and affects no other tenant.
 */
export async function startTenants(
  system: Ask,
  config: Config,
  log: Log,
  { isSelected = () => true, by }: TenantsOptions = {},
): Promise<void> {
  const tenants = otherTenants(config).filter(isSelected);
  await Promise.all(
    tenants.map((tenant) =>
      startRoot(system, agentsOf(config, tenant), START_MS, { tenant, ...defined({ by }) }).catch(
        (error: unknown) => log.error({ alarm: true, tenant }, errorData(error).message),
      ),
    ),
  );
}

const otherTenants = ({ tenants }: Config): readonly string[] =>
  Object.keys(tenants).filter((tenant) => tenant !== DEFAULT_TENANT);

const agentsOf = (config: Config, tenant: string): readonly ResolvedAgent[] =>
  resolveAgents(tenantConfig(config, tenant));

type SeedOptions = {
  readonly config: Config;
  readonly log: Log;
  /** ends the attempts */
  readonly signal: AbortSignal;
};

/** Seeds every tenant but the default one. Never rejects. */
export const seedTenants = (system: Ask, options: SeedOptions): Promise<unknown> =>
  Promise.all(otherTenants(options.config).map((tenant) => seedCluster(system, options, tenant)));

/**
 * Sets the agents of a new cluster by this configuration, and logs a warning when the cluster has
 * different ones. Repeats until the root answers. Never rejects.
 */
export async function seedCluster(
  system: Ask,
  { config, log, signal }: SeedOptions,
  tenant = DEFAULT_TENANT,
): Promise<void> {
  const agents = agentsOf(config, tenant);
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const { settings } = await startRoot(system, agents, SEED_TIMEOUT_MS, { seed: true, tenant });
      if (!isSameSettings(settings, agents.map(settingsOf))) log.warn(differentSettings(tenant));
      return;
    } catch (error) {
      if (attempt === 1 && !signal.aborted) log.warn(errorData(error).message);
      await pause(SEED_PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
}

const differentSettings = (tenant: string): string =>
  `the agents of this configuration${tenant === DEFAULT_TENANT ? '' : ` for the tenant ${tenant}`} ` +
  'differ from those of the cluster, which keeps its own; ' +
  'to apply this configuration: troupe config apply --nats URL --config FILE';

/** Compares without regard to the order of agents and keys. */
function isSameSettings(a: readonly AgentSettings[], b: readonly AgentSettings[]): boolean {
  const text = (settings: readonly AgentSettings[]) =>
    JSON.stringify(
      settings
        .map((one) => Object.entries(one).toSorted(([x], [y]) => (x < y ? -1 : 1)))
        .toSorted((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1)),
    );
  return text(a) === text(b);
}

/**
 * Sends the agents of a configuration to a cluster, from a process that is not part of it.
 * @param by who applies them, for the record of changes
 * @throws TroupeError DEADLINE_EXCEEDED when no worker answers in time
 */
export async function applySettings(
  config: Config,
  cluster: Pick<MessageClientOptions, 'bus' | 'env' | 'shards'> & Pick<SystemOptions, 'store'>,
  by: string,
): Promise<RootStarted> {
  const { store, bus, env, shards } = cluster;
  const client = new MessageClient({
    log: store.log,
    cell: store.cell,
    bus,
    env,
    shards,
    clock: systemClock,
    worker: `command-${randomUUID()}`,
    registry: createRegistry(shippedActors()),
    format: await CellFormat.open(store.log, env),
    statusOf: () => undefined,
  });
  try {
    const ask: System['ask'] = (to, event, options) => client.ask(to, event, options);
    for (const tenant of otherTenants(config))
      await startRoot({ ask }, agentsOf(config, tenant), START_MS, { tenant, by });
    return await startRoot({ ask }, resolveAgents(config), START_MS, { by });
  } finally {
    client.close();
  }
}
