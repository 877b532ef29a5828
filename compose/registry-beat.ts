/**
 * RegistryBeat: registers the agents of this code with the registry of each tenant that is seen,
 * and says every five minutes that they live (EN14).
 *
 * Every process that serves keeps one. Several that speak for the same agents are harmless: what is
 * known already changes nothing, and heartbeats close to each other write nothing.
 */
import { listingAddress } from '../actors/registry/roll.ts';
import { specOf } from '../actors/task/action.ts';
import type { ActionCatalog } from '../actors/task/catalog.ts';
import { type ActionSpec, HEARTBEAT_MS, type RegistryRegister } from '../protocols/action.ts';
import { type ErrorData, errorData } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { type Clock, type System, systemClock } from '../runtime/index.ts';
import { SYSTEM } from './settings.ts';

/** After a registry could not be reached. */
const AGAIN_MS = 10_000;
const ANSWER_MS = 20_000;
/** Tenants that are spoken to; further ones wait until one is forgotten. */
const TENANTS_MAX = 1_000;
/** A tenant that nobody asked about for so long is no longer spoken to. */
const FORGET_MS = 24 * 3_600_000;

export type LocalAgent = Pick<RegistryRegister, 'agent_id' | 'version' | 'actions'> & {
  /** the only tenant whose registry lists it; default all */
  readonly tenant?: string;
};

/**
 * The agents of this code with their actions. @param version of this build
 * @param more actions that are served without a definition, by agent
 */
export function localAgents(
  catalog: ActionCatalog,
  version: string,
  more: Readonly<Record<string, readonly ActionSpec[]>> = {},
): readonly LocalAgent[] {
  const agents = new Map<string, LocalAgent>();
  for (const [agent_id, actions] of Object.entries(more))
    agents.set(agent_id, { agent_id, version, actions: [...actions] });
  for (const definition of catalog.all()) {
    const { agent: agent_id, tenant } = definition;
    const known = agents.get(agent_id) ?? { agent_id, version, actions: [] };
    const actions = [...known.actions, specOf(definition)];
    agents.set(agent_id, { ...known, actions, ...(tenant === undefined ? {} : { tenant }) });
  }
  return [...agents.values()];
}

export type RegistryBeatOptions = {
  readonly system: Pick<System, 'ask'>;
  readonly agents: readonly LocalAgent[];
  readonly clock?: Clock;
  readonly log?: { warn(facts: object, message: string): void };
};

type Tenant = { seenMs: number; registered: boolean; failures: number; cancel: () => void };

export class RegistryBeat {
  readonly #o: RegistryBeatOptions;
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Tenant>();
  #closed = false;

  constructor(options: RegistryBeatOptions) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The tenant is served here. May be called as often as one likes, and waits for nothing. */
  see(tenant: string): void {
    if (this.#closed) return;
    const seenMs = this.#clock.monotonicMs();
    const known = this.#tenants.get(tenant);
    if (known) known.seenMs = seenMs;
    else if (this.#tenants.size < TENANTS_MAX) {
      const fresh = { seenMs, registered: false, failures: 0, cancel: () => {} };
      this.#tenants.set(tenant, fresh);
      void this.#beat(tenant, fresh);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#tenants.values()) cancel();
  }

  /** Never throws: what fails is tried again. */
  async #beat(name: string, tenant: Tenant): Promise<void> {
    if (this.#clock.monotonicMs() - tenant.seenMs > FORGET_MS) {
      this.#tenants.delete(name);
      return;
    }
    let failed = false;
    for (const agent of this.#o.agents) {
      if (agent.tenant !== undefined && agent.tenant !== name) continue;
      const error = await this.#speak(name, tenant, agent);
      if (this.#closed) return;
      if (error) {
        failed = true;
        // At its start a process of a cluster may have nobody to talk to yet.
        if (tenant.failures > 0) this.#warn(name, agent, error);
      }
    }
    tenant.registered = !failed;
    tenant.failures = failed ? tenant.failures + 1 : 0;
    const nextMs = failed ? AGAIN_MS : HEARTBEAT_MS;
    tenant.cancel = this.#clock.after(nextMs, () => void this.#beat(name, tenant));
  }

  #warn(tenant: string, { agent_id: agent }: LocalAgent, { code, message }: ErrorData): void {
    this.#o.log?.warn({ tenant, agent, code }, `registry: ${message}`);
  }

  async #speak(
    name: string,
    { registered }: Tenant,
    agent: LocalAgent,
  ): Promise<ErrorData | undefined> {
    if (registered) {
      const beat = { type: 'registry.send_heartbeat', agent_id: agent.agent_id };
      const error = await this.#ask(name, agent, beat);
      // Somebody removed it, or it was forgotten.
      if (error?.code !== 'NOT_FOUND') return error;
    }
    const { agent_id, version, actions } = agent;
    return this.#ask(name, agent, { type: 'registry.register_agent', agent_id, version, actions });
  }

  async #ask(
    tenant: string,
    { agent_id }: LocalAgent,
    event: Message,
  ): Promise<ErrorData | undefined> {
    try {
      const answer = await this.#o.system.ask(listingAddress(tenant, agent_id), event, {
        principal: SYSTEM,
        timeoutMs: ANSWER_MS,
        ttlMs: ANSWER_MS,
      });
      if (answer.kind === 'refused') return answer.error;
      if (answer.kind === 'answered') return undefined;
      return { code: 'DEADLINE_EXCEEDED', message: `the listing of ${agent_id} does not answer` };
    } catch (error) {
      return errorData(error);
    }
  }
}
