/**
 * The endpoint of the Agent2Agent protocol: serves authenticated requests of both bindings, and
 * cards. This module loads the SDK; `route.ts` imports it with the first request.
 */
import { AgentCard } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import type { System } from '../../runtime/index.ts';
import type { Edge, Identity } from '../edge/edge.ts';
import type { Sealer } from '../edge/identity/sealer.ts';
import type { EventStreams } from '../http/event-streams.ts';
import { errorHeaders, header, type RouteRequest } from '../http/route.ts';
import { lastEventId } from '../http/tasks.ts';
import { noSuchAgent, type ServedAgent, type ServedAgents } from './agents.ts';
import { Cards, type CardsOptions, LEGACY_VERSION } from './cards.ts';
import { type JsonRpcId, type Refusal, refusalOf } from './errors.ts';
import { type A2aCaller, AgentTasks } from './handler.ts';
import { sendJsonRpcError, serveJsonRpc } from './json-rpc.ts';
import { Histories } from './history.ts';
import { TaskLists } from './list-tasks.ts';
import { PushConfigs } from './push-configs.ts';
import { assertVersion, type Binding, callContext, versionOf } from './requests.ts';
import { REST_OPERATIONS, sendRestError } from './rest.ts';
import type { RestOperation } from './rest-paths.ts';

export type EndpointOptions = CardsOptions & {
  readonly edge: Edge;
  readonly system: Pick<System, 'ask' | 'index'>;
  /** its public key seals the secrets of push configurations */
  readonly sealer: Pick<Sealer, 'publicJwk'>;
  readonly agents: ServedAgents;
  readonly streams: EventStreams;
  /** counts each call against the quota of reads */
  readonly reader: Pick<Identity, 'authenticate'>;
  /** replaces the secrets of the installation in a text */
  readonly maskSecrets: (text: string) => string;
  readonly log: { error(facts: object, message: string): void };
};

type Headers = Readonly<Record<string, string>>;

/** Where a request was sent to. */
export type Target = {
  readonly agentId: string;
  /** path of the agent, as `/a2a/main` */
  readonly path: string;
};

export class Agent2AgentEndpoint {
  readonly #o: EndpointOptions;
  readonly #cards: Cards;
  readonly #lists: TaskLists;
  readonly #push: PushConfigs;
  readonly #histories: Histories;

  constructor(options: EndpointOptions) {
    this.#o = options;
    this.#cards = new Cards(options);
    this.#lists = new TaskLists(options.system.index);
    this.#push = new PushConfigs(options);
    this.#histories = new Histories(options.system.index);
  }

  async serveJsonRpc(incoming: RouteRequest, target: Target, caller: A2aCaller): Promise<void> {
    const version = this.#version(incoming, 'JSONRPC');
    const tasks = this.#tasks(incoming, target, caller);
    await serveJsonRpc({
      incoming,
      version,
      ...this.#streamsOf(tasks, caller),
      handlerOf: (onError) => this.#handler(tasks, onError),
      refusal: this.#refusal,
      send: (refusal, id) => this.refuse(incoming, 'JSONRPC', refusal, { id }),
    });
  }

  async serveRest(
    operation: RestOperation,
    incoming: RouteRequest,
    target: Target,
    caller: A2aCaller,
  ): Promise<void> {
    this.#version(incoming, 'HTTP+JSON');
    const tasks = this.#tasks(incoming, target, caller);
    await REST_OPERATIONS[operation]({
      incoming,
      ...this.#streamsOf(tasks, caller),
      handler: this.#handler(tasks, () => {}),
      refusal: this.#refusal,
    });
  }

  /** The public card. @throws TroupeError NOT_FOUND */
  async card(
    incoming: RouteRequest,
    tenant: string,
    { agentId, path }: Target,
  ): Promise<{ readonly body: object; readonly etag: string }> {
    const { agents, legacy } = this.#o;
    const agent = agents.find(tenant, agentId, undefined);
    if (!agent) throw noSuchAgent(agentId);
    const { card, etag } = await this.#cards.signed(agent, path);
    const body = AgentCard.toJSON(card) as Record<string, unknown>;
    if (!legacy || versionOf(incoming) !== LEGACY_VERSION) return { body, etag };
    const { signatures: _, ...old } = (await legacyCard(card)) as Record<string, unknown>;
    const { supportedInterfaces } = body;
    return { body: { ...old, supportedInterfaces }, etag: `${etag.slice(0, -1)}.${version03}"` };
  }

  /** Answers an error as the binding has it. */
  refuse(
    incoming: RouteRequest,
    binding: Binding,
    refusal: Refusal,
    { id = null, headers }: { readonly id?: JsonRpcId; readonly headers?: Headers } = {},
  ): void {
    const sent = headers ?? (refusal.data ? errorHeaders(refusal.data) : {});
    if (binding === 'JSONRPC') sendJsonRpcError(incoming, refusal, id, sent);
    else sendRestError(incoming, refusal, sent);
  }

  refusal(thrown: unknown): Refusal {
    return this.#refusal(thrown);
  }

  readonly #refusal = (thrown: unknown): Refusal => {
    const refusal = refusalOf(thrown);
    if (refusal.data?.code === 'INTERNAL')
      this.#o.log.error({ err: thrown }, 'agent2agent: a request failed');
    return refusal;
  };

  #version(incoming: RouteRequest, binding: Binding): string {
    const version = versionOf(incoming);
    assertVersion(version, binding, this.#o.legacy);
    return version;
  }

  #tasks(incoming: RouteRequest, { agentId, path }: Target, caller: A2aCaller): AgentTasks {
    const { edge, agents, reader, maskSecrets } = this.#o;
    const agent = agents.find(caller.tenant, agentId, caller.roles);
    if (!agent) throw noSuchAgent(agentId);
    const last = header(incoming.request, 'last-event-id');
    return new AgentTasks({
      edge,
      lists: this.#lists,
      push: this.#push,
      histories: this.#histories,
      maskSecrets,
      caller,
      countRead: () => reader.authenticate(caller.credentials),
      agent,
      extendedCard: () => this.#extendedCard(agent, path),
      lastEventId: last === undefined ? undefined : lastEventId(last),
    });
  }

  async #extendedCard(agent: ServedAgent, path: string): Promise<AgentCard> {
    return (await this.#cards.signed(agent, path)).card;
  }

  #streamsOf(tasks: AgentTasks, { tenant, sub }: A2aCaller) {
    const { streams } = this.#o;
    return { streams, who: `${tenant} ${sub}`, eventId: () => tasks.eventId };
  }

  /** The operations as the SDK calls them. @param onError called with what one of them throws */
  #handler(tasks: AgentTasks, onError: (thrown: unknown) => void): A2ARequestHandler {
    const noted = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        onError(error);
        throw error;
      }
    };
    return {
      getAgentCard: () => Promise.resolve({ capabilities: CAPABILITIES } as unknown as AgentCard),
      getAuthenticatedExtendedAgentCard: (request) =>
        noted(() => tasks.getAuthenticatedExtendedAgentCard(request)),
      sendMessage: (request) => noted(() => tasks.sendMessage(request)),
      sendMessageStream: (request) => tasks.sendMessageStream(request),
      getTask: (request) => noted(() => tasks.getTask(request)),
      listTasks: (request) => noted(() => tasks.listTasks(request)),
      cancelTask: (request) => noted(() => tasks.cancelTask(request)),
      resubscribe: (request) => tasks.resubscribe(request),
      createTaskPushNotificationConfig: (config) => noted(() => tasks.createConfig(config)),
      getTaskPushNotificationConfig: (request) => noted(() => tasks.getConfig(request)),
      listTaskPushNotificationConfigs: (request) => noted(() => tasks.listConfigs(request)),
      deleteTaskPushNotificationConfig: (request) => noted(() => tasks.deleteConfig(request)),
    };
  }
}

/** What the handler of 0.3 asks for. */
const CAPABILITIES = { streaming: true, pushNotifications: true, extensions: [] };
const version03 = LEGACY_VERSION;

/** The card as 0.3 has it; the SDK exports the translation by its handler only. */
const legacyCard = (card: AgentCard): Promise<object> =>
  new LegacyRestTransportHandler({
    getAuthenticatedExtendedAgentCard: () => Promise.resolve(card),
  } as unknown as A2ARequestHandler).getAuthenticatedExtendedAgentCard(callContext(LEGACY_VERSION));
