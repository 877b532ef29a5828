/**
 * `/a2a`: the Agent2Agent protocol (A2A 1.0, of the Linux Foundation), by which other programs call
 * the agents of this installation. In this program `a2a` alone, as in the section of the
 * configuration and in the profiles A2A-Basic and A2A-External, names troupe's own protocol of
 * envelopes; everything of the Linux Foundation's protocol is called `agent2agent`.
 *
 * | path | what |
 * | --- | --- |
 * | `/a2a/{agent}` | JSON-RPC |
 * | `/a2a/{agent}/v1/...` | HTTP+JSON |
 * | `/a2a/{agent}/.well-known/agent-card.json` | the card of the agent |
 * | `/.well-known/agent-card.json` | the card of the default agent |
 * | `/tenants/{tenant}/a2a/...` | the same of another tenant than the installation's own |
 *
 * A request is refused before its body is read, unless its page and its caller are admitted.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { LazyValue } from '../../protocols/lazy-value.ts';
import type { Identity } from '../edge/edge.ts';
import { credentialsOf } from '../http/envelopes.ts';
import {
  assertOrigin,
  challengeHeaders,
  metadataRoute,
  type ProtectedResource,
} from '../http/protected-resource.ts';
import { header, type Route, type RouteRequest, sendJson } from '../http/route.ts';
import { noSuchAgent } from './agents.ts';
import type { Agent2AgentEndpoint, EndpointOptions, Target } from './endpoint.ts';
import type { A2aCaller } from './handler.ts';
import type { Binding } from './requests.ts';
import { REST_PATHS, type RestOperation } from './rest-paths.ts';

const A2A_PATH = '/a2a';
const CARD_PATH = '/.well-known/agent-card.json';
const CARD_CACHE = 'public, max-age=300';

export type Agent2AgentRouteOptions = EndpointOptions &
  Omit<ProtectedResource, 'path'> & {
    readonly identity: Pick<Identity, 'authenticate'>;
    /** the installation's own tenant */
    readonly home: string;
    /** agent of `/.well-known/agent-card.json`; default: the default chat agent */
    readonly defaultAgent?: string;
    /** whether requests without a token get cards */
    readonly publicCards: boolean;
  };

/** A request whose caller is admitted. */
type Admitted = { readonly target: Target; readonly caller: A2aCaller };

export function agent2agentRoutes(options: Agent2AgentRouteOptions): readonly Route[] {
  const gate = new Gate(options);
  return [
    ...['', '/tenants/{tenant}'].flatMap((prefix) => routesBelow(gate, prefix)),
    { method: 'GET', path: CARD_PATH, handle: (incoming) => gate.card(incoming) },
    metadataRoute({ ...options, path: A2A_PATH }),
  ];
}

const routesBelow = (gate: Gate, prefix: string): readonly Route[] => {
  const path = `${prefix}${A2A_PATH}/{agent}`;
  const operations = Object.keys(REST_PATHS) as RestOperation[];
  return [
    {
      method: 'POST',
      path,
      handle: (incoming) =>
        gate.admitted(incoming, 'JSONRPC', (endpoint, { target, caller }) =>
          endpoint.serveJsonRpc(incoming, target, caller),
        ),
    },
    { method: 'GET', path: `${path}${CARD_PATH}`, handle: (incoming) => gate.card(incoming) },
    ...operations.map(
      (name): Route => ({
        method: REST_PATHS[name][0],
        path: `${path}/v1${REST_PATHS[name][1]}`,
        handle: (incoming) =>
          gate.admitted(incoming, 'HTTP+JSON', (endpoint, { target, caller }) =>
            endpoint.serveRest(name, incoming, target, caller),
          ),
      }),
    ),
  ];
};

class Gate {
  readonly #o: Agent2AgentRouteOptions;
  readonly #endpoint = new LazyValue(async () => {
    const { Agent2AgentEndpoint } = await import('./endpoint.ts');
    return new Agent2AgentEndpoint(this.#o);
  });

  constructor(options: Agent2AgentRouteOptions) {
    this.#o = options;
  }

  /** Serves a request of an admitted caller; every error is sent as the binding has it. */
  async admitted(
    incoming: RouteRequest,
    binding: Binding,
    serve: (endpoint: Agent2AgentEndpoint, admitted: Admitted) => Promise<void>,
  ): Promise<void> {
    const endpoint = await this.#endpoint.get();
    try {
      await serve(endpoint, await this.#admit(incoming));
    } catch (thrown) {
      if (incoming.response.headersSent) throw thrown;
      const refusal = endpoint.refusal(thrown);
      const resource = { ...this.#o, path: A2A_PATH };
      const headers = refusal.data ? challengeHeaders(resource, refusal.data) : {};
      endpoint.refuse(incoming, binding, refusal, { headers });
    }
  }

  /**
   * The card of an agent; for callers with a token where cards are not public, or the tenant has no
   * agents yet. Where they are public, a request without a token gets NOT_FOUND for a card that is
   * not shown, whether or not there is such a tenant. @throws TroupeError NOT_FOUND; else as
   * `#admit`
   */
  async card(incoming: RouteRequest): Promise<void> {
    const { agents, home } = this.#o;
    const { params, request, response } = incoming;
    const isPublic = this.#o.publicCards && agents.hasTenant(params['tenant'] ?? home);
    const own = isPublic ? undefined : await this.#tenantOf(incoming);
    const tenant = own ?? params['tenant'] ?? home;
    const agentId = params['agent'] ?? this.#o.defaultAgent ?? agents.defaultId(tenant);
    if (agentId === undefined)
      throw new TroupeError('NOT_FOUND', 'there is no agent that accepts A2A requests here');
    const endpoint = await this.#endpoint.get();
    const target = { agentId, path: pathOf(params['tenant'], agentId) };
    const { body, etag } = await endpoint.card(incoming, tenant, target);
    const headers = {
      etag,
      'cache-control': isPublic ? CARD_CACHE : 'private, no-cache',
      vary: 'A2A-Version',
    };
    if (isSame(header(request, 'if-none-match'), etag)) response.writeHead(304, headers).end();
    else sendJson(response, 200, body, headers);
  }

  /** Of the caller that requests a card. @throws TroupeError as `card` */
  async #tenantOf(incoming: RouteRequest): Promise<string> {
    try {
      return (await this.#admit(incoming)).caller.tenant;
    } catch (error) {
      const isAnonymous = header(incoming.request, 'authorization') === undefined;
      if (!this.#o.publicCards || !isAnonymous || errorData(error).code !== 'UNAUTHORIZED')
        throw error;
      throw noSuchAgent(incoming.params['agent'] ?? '');
    }
  }

  /** @throws TroupeError FORBIDDEN, UNAUTHORIZED; NOT_FOUND in a tenant that is not the caller's */
  async #admit(incoming: RouteRequest): Promise<Admitted> {
    const { identity } = this.#o;
    const { request, params, signal } = incoming;
    assertOrigin(incoming, this.#o);
    const credentials = credentialsOf(incoming);
    const caller = await identity.authenticate(credentials);
    const { tenant, agent: agentId = '' } = params;
    if (tenant !== undefined && tenant !== caller.tenant) throw noSuchAgent(agentId);
    return {
      target: { agentId, path: pathOf(tenant, agentId) },
      caller: {
        ...caller,
        credentials,
        trace: {
          traceparent: header(request, 'traceparent'),
          tracestate: header(request, 'tracestate'),
        },
        disconnected: signal,
      },
    };
  }
}

const pathOf = (tenant: string | undefined, agentId: string): string =>
  `${tenant === undefined ? '' : `/tenants/${tenant}`}${A2A_PATH}/${encodeURIComponent(agentId)}`;

/** RFC 9110, 13.1.2. */
const isSame = (wanted: string | undefined, etag: string): boolean =>
  wanted?.split(',').some((one) => {
    const tag = one.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  }) ?? false;
