/**
 * Registers the agents of this build with the registry of each tenant, and sends their heartbeats
 * (every five minutes).
 *
 * Every process that serves a tenant runs one. Several processes may register the same agents: a
 * registration that changes nothing is ignored, and heartbeats in quick succession write nothing.
 */
import { type ActionSpec, HEARTBEAT_MS, type RegistryRegister } from '../../protocols/action.ts';
import { type ErrorData, errorData } from '../../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import type { Message } from '../../protocols/statechart.ts';
import { type Clock, type System, systemClock } from '../../runtime/index.ts';
import { specOf } from '../task/action.ts';
import type { ActionCatalog } from '../task/catalog.ts';
import { listingAddress } from './roll.ts';

/** Pause after a failed registration or heartbeat. */
const RETRY_MS = 10_000;
const TIMEOUT_MS = 20_000;
/** Tenants that are registered at the same time; others are ignored until one is forgotten. */
const TENANTS_MAX = 1_000;
/** A tenant without requests for this long is forgotten. */
const FORGET_MS = 24 * 3_600_000;

export type LocalAgent = Pick<RegistryRegister, 'agent_id' | 'version' | 'actions'> & {
  /** the only tenant whose registry lists the agent; default: all tenants */
  readonly tenant?: string;
};

/**
 * The agents of this build with their actions.
 * @param version of this build
 * @param undefinedActions actions that are served without a definition, by agent
 */
export function localAgents(
  catalog: ActionCatalog,
  version: string,
  undefinedActions: Readonly<Record<string, readonly ActionSpec[]>> = {},
): readonly LocalAgent[] {
  const agents = new Map<string, LocalAgent>();
  for (const [agent_id, actions] of Object.entries(undefinedActions))
    agents.set(agent_id, { agent_id, version, actions: [...actions] });
  for (const definition of catalog.all()) {
    const { agent: agent_id, tenant } = definition;
    const agent = agents.get(agent_id) ?? { agent_id, version, actions: [] };
    const actions = [...agent.actions, specOf(definition)];
    agents.set(agent_id, { ...agent, actions, ...(tenant === undefined ? {} : { tenant }) });
  }
  return [...agents.values()];
}

export type AgentRegistrationOptions = {
  readonly system: Pick<System, 'ask'>;
  readonly agents: readonly LocalAgent[];
  readonly clock?: Clock;
  readonly log?: { warn(facts: object, message: string): void };
};

type Tenant = {
  /** monotonic time of the last request */
  usedMs: number;
  registered: boolean;
  failures: number;
  cancel: () => void;
};

export class AgentRegistration {
  readonly #o: AgentRegistrationOptions;
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Tenant>();
  #closed = false;

  constructor(options: AgentRegistrationOptions) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Starts registering with a tenant, or notes that the tenant is still in use. Never waits. */
  registerWith(tenant: string): void {
    if (this.#closed) return;
    const usedMs = this.#clock.monotonicMs();
    const current = this.#tenants.get(tenant);
    if (current) current.usedMs = usedMs;
    else if (this.#tenants.size < TENANTS_MAX) {
      const added = { usedMs, registered: false, failures: 0, cancel: () => {} };
      this.#tenants.set(tenant, added);
      void this.#register(tenant, added);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#tenants.values()) cancel();
  }

  /** Registers all agents, or sends their heartbeats, and schedules the next time. Never throws. */
  async #register(name: string, tenant: Tenant): Promise<void> {
    if (this.#clock.monotonicMs() - tenant.usedMs > FORGET_MS) {
      this.#tenants.delete(name);
      return;
    }
    let failed = false;
    for (const agent of this.#o.agents) {
      if (agent.tenant !== undefined && agent.tenant !== name) continue;
      const error = await this.#registerAgent(name, tenant, agent);
      if (this.#closed) return;
      if (error) {
        failed = true;
        // A first failure is normal: the process may start before the first worker of the cluster.
        if (tenant.failures > 0) this.#warn(name, agent, error);
      }
    }
    tenant.registered = !failed;
    tenant.failures = failed ? tenant.failures + 1 : 0;
    const nextMs = failed ? RETRY_MS : HEARTBEAT_MS;
    tenant.cancel = this.#clock.after(nextMs, () => void this.#register(name, tenant));
  }

  #warn(tenant: string, { agent_id: agent }: LocalAgent, { code, message }: ErrorData): void {
    this.#o.log?.warn({ tenant, agent, code }, `registry: ${message}`);
  }

  async #registerAgent(
    name: string,
    { registered }: Tenant,
    agent: LocalAgent,
  ): Promise<ErrorData | undefined> {
    const { agent_id, version, actions } = agent;
    if (registered) {
      const heartbeat = { type: 'registry.send_heartbeat', agent_id };
      const error = await this.#ask(name, agent, heartbeat);
      // NOT_FOUND: the agent was removed or has expired, so register it again.
      if (error?.code !== 'NOT_FOUND') return error;
    }
    return this.#ask(name, agent, { type: 'registry.register_agent', agent_id, version, actions });
  }

  async #ask(
    tenant: string,
    { agent_id }: LocalAgent,
    event: Message,
  ): Promise<ErrorData | undefined> {
    try {
      const answer = await this.#o.system.ask(listingAddress(tenant, agent_id), event, {
        principal: SYSTEM_PRINCIPAL,
        timeoutMs: TIMEOUT_MS,
        ttlMs: TIMEOUT_MS,
      });
      if (answer.kind === 'refused') return answer.error;
      if (answer.kind === 'answered') return undefined;
      return { code: 'DEADLINE_EXCEEDED', message: `the listing of ${agent_id} did not answer` };
    } catch (error) {
      return errorData(error);
    }
  }
}
