/**
 * Settings: the agents of a configuration become those of the root, which journals them and tells
 * the agents. Embedded at every start; in a cluster once, and then by `troupe config apply`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { rootAddress, shippedActors } from '../actors/index.ts';
import type { AgentSettings } from '../protocols/agent.ts';
import { errorData, TroupeError } from '../protocols/errors.ts';
import type { RootStarted } from '../protocols/supervision.ts';
import { createRegistry } from '../runtime/actor/registry.ts';
import {
  type Config,
  type ResolvedAgent,
  resolveAgents,
  tenantConfig,
} from '../runtime/config/index.ts';
import { Door, type DoorOptions } from '../runtime/door.ts';
import { type System, type SystemOptions, systemClock } from '../runtime/index.ts';
import { settingsOf } from './agent-settings.ts';
import { type Crew, partsFor, TENANT } from './crew.ts';
import { tenancyOf } from './tenants.ts';

export const SYSTEM = { sub: 'system', roles: ['operator'] };
/** How long the root may take to tell the agents their settings. */
export const START_MS = 30_000;
/** A worker may be a while away. */
const SEED_AGAIN_MS = 60_000;
const SEED_PAUSE_MS = 1_000;

/**
 * The root configures the agents and answers when it has told them.
 * @throws TroupeError when it refuses, or does not answer in time
 */
export const startRoot = (
  system: Pick<System, 'ask'>,
  agents: readonly ResolvedAgent[],
  timeoutMs: number,
  more: { seed?: true; tenant?: string } = {},
): Promise<RootStarted> => startWith(system, agents.map(settingsOf), timeoutMs, more);

/** What the root has journaled; of a root that has nothing yet, nothing. @throws TroupeError */
export const currentSettings = async (
  system: Pick<System, 'ask'>,
  tenant = TENANT,
): Promise<readonly AgentSettings[]> =>
  (await startWith(system, [], START_MS, { seed: true, tenant })).settings;

/** The same with settings that are made already. @throws TroupeError as startRoot */
export async function startWith(
  { ask }: Pick<System, 'ask'>,
  agents: readonly AgentSettings[],
  timeoutMs: number,
  { tenant = TENANT, ...more }: { seed?: true; tenant?: string } = {},
): Promise<RootStarted> {
  const event = { type: 'root.start', agents, ...more };
  const answer = await ask(rootAddress(tenant), event, {
    principal: SYSTEM,
    timeoutMs,
    ttlMs: timeoutMs,
  });
  if (answer.kind === 'answered') return answer.result as RootStarted;
  const refused = answer.kind === 'refused';
  const why = refused ? answer.error.message : `no answer within ${timeoutMs / 1_000} s`;
  throw new TroupeError(
    refused ? answer.error.code : 'DEADLINE_EXCEEDED',
    `the root did not start, agents are as they were configured before: ${why}`,
  );
}

/** Starts the roots of other tenants with their agents; one that fails is in the log. */
export async function startTenants(
  system: Pick<System, 'ask'>,
  config: Config,
  log: Crew['log'],
  isMeant: (tenant: string) => boolean = () => true,
): Promise<void> {
  const tenants = otherTenants(config).filter(isMeant);
  await Promise.all(
    tenants.map((tenant) =>
      startRoot(system, agentsOf(config, tenant), START_MS, { tenant }).catch((error: unknown) =>
        log.error({ alarm: true, tenant }, errorData(error).message),
      ),
    ),
  );
}

const otherTenants = (config: Config): readonly string[] =>
  tenancyOf(config).tenants.filter((tenant) => tenant !== TENANT);

const agentsOf = (config: Config, tenant: string): readonly ResolvedAgent[] =>
  resolveAgents(tenantConfig(config, tenant));

/** As `seed`, of every other tenant. */
export const seedTenants = (system: System, crew: Crew, signal: AbortSignal): Promise<unknown> =>
  Promise.all(otherTenants(crew.config).map((tenant) => seed(system, crew, signal, tenant)));

/** Gives a new cluster its settings, and says when an older one has others. Never rejects. */
export async function seed(
  system: System,
  crew: Crew,
  signal: AbortSignal,
  tenant = TENANT,
): Promise<void> {
  const { log } = crew;
  const { agents } = partsFor(crew, tenant);
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      const { settings } = await startRoot(system, agents, SEED_AGAIN_MS, { seed: true, tenant });
      if (!sameSettings(settings, agents.map(settingsOf))) {
        log.warn(
          `the agents of this configuration${tenant === TENANT ? '' : ` for the tenant ${tenant}`} are ` +
            'not those of the cluster, which stay as they are; ' +
            'to give them to the cluster: troupe config apply --nats URL --config FILE',
        );
      }
      return;
    } catch (error) {
      if (tries === 1) log.warn(errorData(error).message);
      await pause(SEED_PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
}

/** Whatever the order of agents and keys. */
function sameSettings(a: readonly AgentSettings[], b: readonly AgentSettings[]): boolean {
  const text = (settings: readonly AgentSettings[]) =>
    JSON.stringify(
      settings
        .map((one) => Object.entries(one).toSorted(([x], [y]) => (x < y ? -1 : 1)))
        .toSorted((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1)),
    );
  return text(a) === text(b);
}

/**
 * Makes the agents of a configuration those of a whole cluster, for a command that is no part of
 * it. @throws TroupeError DEADLINE_EXCEEDED when no worker has taken them in time
 */
export async function applySettings(
  config: Config,
  cluster: Pick<DoorOptions, 'bus' | 'env' | 'shards'> & Pick<SystemOptions, 'store'>,
): Promise<RootStarted> {
  const { store, bus, env, shards } = cluster;
  const door = new Door({
    log: store.log,
    cell: store.cell,
    bus,
    env,
    shards,
    clock: systemClock,
    worker: `command-${randomUUID()}`,
    registry: createRegistry(shippedActors()),
    statusOf: () => undefined,
  });
  try {
    const ask: System['ask'] = (to, event, options) => door.ask(to, event, options);
    for (const tenant of otherTenants(config))
      await startRoot({ ask }, agentsOf(config, tenant), START_MS, { tenant });
    return await startRoot({ ask }, resolveAgents(config), START_MS);
  } finally {
    door.close();
  }
}
