/** The catalog of a gateway over real HTTP, with real tasks, for tests of MCP. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Identity } from '../../../channels/edge/edge.ts';
import type { TokenScope } from '../../../operations/access.ts';
import type { OperationTools } from '../../../channels/mcp/operation-tools.ts';
import {
  gatewayCatalog,
  type GatewayCatalogOptions,
} from '../../../channels/mcp/gateway-catalog.ts';
import { mcpRoutes } from '../../../channels/mcp/route.ts';
import { systemClock } from '../../../runtime/index.ts';
import { namedCallers, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import { testServices } from '../gateway/client.ts';
import { SECRET, serveRoutes } from '../http/operation-server.ts';

export type McpGateway = Pick<RealTasks, 'gate' | 'system'> & {
  readonly url: string;
  /** what the audit has recorded */
  readonly audited: string[];
  /** failures that no route expects */
  readonly faults: string[];
  /** a request of 2026; returns the JSON-RPC message */
  readonly rpc: (method: string, params: object, options?: RpcOptions) => Promise<RpcAnswer>;
};

export type RpcOptions = {
  /**
   * name of the caller, as real-tasks.ts has them, or `operator`; after a space, the scope of its
   * token; default `alice`
   */
  readonly as?: string;
  readonly capabilities?: object;
  readonly signal?: AbortSignal;
  /** instead of those of the request, or more */
  readonly headers?: Readonly<Record<string, string>>;
};
export type RpcAnswer = {
  readonly status: number;
  readonly contentType: string | null;
  // Tests read whatever the method returns.
  // oxlint-disable-next-line no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
};

export const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const OPERATOR = {
  sub: 'operator',
  roles: ['operator'],
  tenant: 'acme',
  profile: 'A2A-Basic' as const,
};
const callers: Pick<Identity, 'authenticate'> = {
  async authenticate(credentials) {
    const { authorization = '' } = credentials;
    const [, name = '', scope] = /^Bearer (\w+)(?: (\S+))?$/.exec(authorization) ?? [];
    const caller =
      name === 'operator'
        ? OPERATOR
        : await namedCallers.authenticate({ ...credentials, authorization: `Bearer ${name}` });
    return { ...caller, ...(scope ? { scopes: [scope as TokenScope] } : {}) };
  },
};

/** Skills by tenant, and the page of the view of tasks; default neither. */
export type McpOptions = Partial<Pick<GatewayCatalogOptions, 'skills' | 'taskApp'>>;
const NO_SKILLS: GatewayCatalogOptions['skills'] = {
  skillsFor: 'none',
  skillsOf: () => {
    throw new Error('no skills here');
  },
};

/** Serves until the end of the test. */
export async function serveMcp(
  which: OperationTools = 'read',
  { skills = NO_SKILLS, taskApp }: McpOptions = {},
): Promise<McpGateway> {
  const tasks = await openRealTasks();
  onTestFinished(() => tasks.stop());
  const { system, offers, gate } = tasks;
  const identity: Identity = { ...namedCallers, ...callers };
  const edge = tasks.edge({ identity });
  const audited: string[] = [];
  const faults: string[] = [];
  const { routes, close } = mcpRoutes({
    identity,
    home: 'default',
    authMode: 'token',
    publicUrl: () => 'https://troupe.example',
    issuers: ['https://issuer.example'],
    info: { name: 'troupe', version: '0.0.0' },
    clock: systemClock,
    log: { error: (_, message) => void faults.push(message) },
    loadCatalog: () =>
      Promise.resolve(
        gatewayCatalog({
          edge,
          offers,
          which,
          skills,
          taskApp,
          services: testServices({
            system,
            maskSecrets: (text) => text.replaceAll(SECRET, '***'),
          }),
          audit: ({ sub }, what) => void audited.push(`${sub} ${what}`),
          evidence: {
            index: system.index,
            offers,
            artifacts: { sign: () => Promise.reject(new Error('no files here')) },
          },
        }),
      ),
  });
  onTestFinished(close);
  const { url } = await serveRoutes(routes);
  return { url: `${url}/mcp`, gate, system, audited, faults, rpc: rpcTo(`${url}/mcp`) };
}

export const rpcTo =
  (url: string): McpGateway['rpc'] =>
  async (method, params, { as = 'alice', capabilities = {}, signal, headers } = {}) => {
    const named = params as { name?: string; taskId?: string; uri?: string; _meta?: object };
    const name = named.name ?? named.taskId ?? named.uri;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...named._meta,
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${as}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: randomUUID(),
        method,
        params: { ...params, _meta: meta },
      }),
      signal: signal ?? null,
    });
    const { result, error } = (await response.json()) as RpcAnswer;
    const contentType = response.headers.get('content-type');
    return { status: response.status, contentType, result, ...(error ? { error } : {}) };
  };
