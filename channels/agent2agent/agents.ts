/**
 * The agents that are served, per tenant: those that offer actions, and chat agents. What they
 * offer is read when it is asked, from the registry and the offers that every entry point uses.
 */
import { type ActionSpec, AGENTS_INDEX, type AgentRow, majorOf } from '../../protocols/action.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { SEND_MESSAGE } from '../../protocols/agent-message.ts';
import { callable } from '../../protocols/models/function-call.ts';
import type { Offers } from '../../protocols/offers.ts';
import type { Index } from '../../runtime/index.ts';
import { mayRequest } from '../edge/checks.ts';

const CHAT_VERSION = '1.0.0';

/** What ids of agents and tenants are; others are longer than a key of an index may be. */
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

export type ServedAgent = {
  readonly id: string;
  readonly version: string;
  /** the actions that the caller may call, without sensitive ones; sorted */
  readonly actions: readonly ActionSpec[];
  /** the action that a text message calls; absent: it is no chat agent */
  readonly chat?: ActionSpec;
};

/** An agent of this build, with its actions; only its tenant has it, if it names one. */
export type OwnAgent = Pick<AgentRow, 'agent_id' | 'version' | 'actions'> & {
  readonly tenant?: string;
};

export type ServedAgentsOptions = {
  readonly offers: Pick<Offers, 'all' | 'find'>;
  readonly index: Pick<Index, 'list'>;
  readonly own: readonly OwnAgent[];
  readonly chat: (tenant: string) => ChatAgents;
  /** of this build */
  readonly version: string;
  /** the installation's own tenant */
  readonly home: string;
};

export type ChatAgents = { readonly ids: readonly string[]; readonly defaultId: string };

/** Roles of a caller; undefined: a request without a token, which sees what needs no role. */
type Roles = readonly string[] | undefined;

export class ServedAgents {
  readonly #o: ServedAgentsOptions;

  constructor(options: ServedAgentsOptions) {
    this.#o = options;
  }

  /** Whether the tenant exists, which a request without a token must not bring about. */
  hasTenant(tenant: string): boolean {
    const { home, index } = this.#o;
    if (!NAME.test(tenant)) return false;
    return tenant === home || index.list(AGENTS_INDEX, tenant, { limit: 1 }).length > 0;
  }

  /** The agent of a chat without a name; undefined where chat agents are not offered. */
  defaultId(tenant: string): string | undefined {
    return this.#chatAction(tenant) && this.#o.chat(tenant).defaultId;
  }

  find(tenant: string, id: string, roles: Roles): ServedAgent | undefined {
    if (!NAME.test(id)) return undefined;
    const registered = this.#registered(tenant, id);
    const chat = this.#chatOf(tenant, id);
    const names = new Set(registered?.actions.map(keyOf));
    const offered = names.size === 0 ? [] : callable(this.#o.offers.all(tenant));
    const actions = offered.filter((spec) => names.has(keyOf(spec)));
    if (actions.length === 0 && !chat) return undefined;
    return {
      id,
      version: registered?.version ?? this.#o.version,
      actions: actions.filter((spec) => mayRequest(spec.roles, roles ?? [])),
      ...(chat && (roles === undefined || mayRequest(chat.roles, roles)) ? { chat } : {}),
    };
  }

  #registered(tenant: string, id: string): OwnAgent | undefined {
    const own = this.#o.own.find(
      (agent) => agent.agent_id === id && (agent.tenant ?? tenant) === tenant,
    );
    if (own) return own;
    const rows = this.#o.index.list<AgentRow>(AGENTS_INDEX, tenant, { prefix: id, limit: 1 });
    const row = rows[0]?.value;
    return row?.agent_id === id && row.url !== undefined ? row : undefined;
  }

  #chatOf(tenant: string, id: string): ActionSpec | undefined {
    return this.#o.chat(tenant).ids.includes(id) ? this.#chatAction(tenant) : undefined;
  }

  #chatAction(tenant: string): ActionSpec | undefined {
    const found = this.#o.offers.find(tenant, SEND_MESSAGE, CHAT_VERSION);
    return 'offer' in found ? found.offer.spec : undefined;
  }
}

export const noSuchAgent = (id: string): TroupeError =>
  new TroupeError('NOT_FOUND', `there is no agent ${id.slice(0, 80)} that accepts A2A requests`);

/** Another agent may offer a newer version of the same MAJOR. */
const keyOf = ({ action, action_version }: ActionSpec): string =>
  `${action}@${majorOf(action_version)}`;
