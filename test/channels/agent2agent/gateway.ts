/**
 * The endpoint of the Agent2Agent protocol over real HTTP, with real tasks and the SDK's client.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Message, type Part, Role, type SendMessageRequest, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { Type } from '@sinclair/typebox';
import { onTestFinished } from 'vitest';
import { localAgents } from '../../../actors/registry/agent-registration.ts';
import { defineAction } from '../../../actors/task/action.ts';
import { agentRequest } from '../../../actors/task/remote/agent-request.ts';
import { ServedAgents } from '../../../channels/agent2agent/agents.ts';
import {
  agent2agentRoutes,
  type Agent2AgentRouteOptions,
} from '../../../channels/agent2agent/route.ts';
import { createPushSender } from '../../../channels/agent2agent/push-sender.ts';
import { createSealer } from '../../../channels/edge/identity/sealer.ts';
import { openSigner } from '../../../channels/edge/identity/signer.ts';
import { EventStreams } from '../../../channels/http/event-streams.ts';
import { jwksRoutes } from '../../../channels/http/jwks.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { namedCallers, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import { serveRoutes } from '../http/operation-server.ts';

export type TestGateway = Pick<RealTasks, 'gate' | 'system'> & {
  readonly url: string;
  /** failures that are faults of the program */
  readonly faults: string[];
  /** file of the keys that sign cards */
  readonly keyFile: string;
  /** a request of JSON-RPC with the headers of 1.0 */
  readonly rpc: (agent: string, body: unknown, options?: RawOptions) => Promise<RawAnswer>;
  readonly client: (options?: ClientOptions) => Promise<Client>;
  readonly factory: (options?: Omit<ClientOptions, 'agent'>) => ClientFactory;
};

export type RawOptions = { readonly as?: string; readonly headers?: Record<string, string> };
export type RawAnswer = {
  readonly status: number;
  readonly headers: Headers;
  // Tests read whatever the method returns.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
};

export type ClientOptions = {
  readonly as?: string;
  readonly agent?: string;
  readonly binding?: 'JSONRPC' | 'HTTP+JSON';
  readonly legacy?: boolean;
};

/** An agent that answers a text by it, in the context of the message. */
const chatAction = defineAction({
  action: 'agents.send_message',
  version: '1.0.0',
  description: 'Answers a text',
  agent: 'agents',
  schemas: {
    '1.0': Type.Object(
      {
        schema_version: Type.Literal('1.0'),
        agent_id: Type.String(),
        message: Type.String({ minLength: 1, maxLength: 32_768 }),
      },
      { additionalProperties: false },
    ),
  },
  perform: ({ agent_id, message }, { envelope, taskId }) =>
    Promise.resolve({
      text: `${String(agent_id)} heard ${String(message)}`,
      session_key: `${String(agent_id)}/${envelope.context_id}`,
      run_id: taskId,
    }),
});

const maskSecrets = (text: string): string => text.replaceAll('installation-secret', '***');

/** Serves until the end of the test. @param changes of the defaults of this file */
export async function serveAgent2Agent(
  changes: Partial<Agent2AgentRouteOptions> & { readonly keyFile?: string } = {},
): Promise<TestGateway> {
  const faults: string[] = [];
  const keyFile = changes.keyFile ?? join(scratchFolder(), 'signing.jwk');
  const signer = await openSigner(keyFile);
  const sealer = await createSealer({
    file: join(scratchFolder(), 'sealing.jwk'),
    jwksUrl: () => '',
  });
  let url = '';
  const push = createPushSender({
    request: agentRequest({ allowLoopback: true, ignoresBody: true }),
    signer,
    sealer,
    publicUrl: () => url,
    maskSecrets,
  });
  const tasks = await openRealTasks([chatAction], push);
  onTestFinished(() => tasks.stop());
  const { system, offers, gate, catalog } = tasks;
  const edge = tasks.edge();
  const agents = new ServedAgents({
    offers,
    index: system.index,
    own: localAgents(catalog, '9.8.7'),
    chat: () => ({ ids: ['main', 'tester'], defaultId: 'main' }),
    version: '9.8.7',
    home: 'acme',
  });
  const routes = agent2agentRoutes({
    edge,
    system,
    sealer,
    agents,
    streams: new EventStreams(),
    reader: namedCallers,
    identity: namedCallers,
    signer,
    publicUrl: () => url,
    issuers: ['https://issuer.example'],
    home: 'acme',
    authMode: 'token',
    publicCards: true,
    legacy: false,
    maskSecrets,
    log: { error: (facts, message) => void faults.push(`${message} ${JSON.stringify(facts)}`) },
    ...changes,
  });
  const server = await serveRoutes([...routes, ...jwksRoutes(async () => signer.publicJwks)]);
  url = server.url;
  return {
    url,
    faults: new Proxy(faults, {
      get: (own, name) => Reflect.get([...own, ...server.faults], name),
    }),
    keyFile,
    gate,
    system,
    rpc: rpcTo(url),
    client: ({ agent = 'tester', ...options } = {}) =>
      factoryOf(options).createFromUrl(`${url}/a2a/${agent}/`),
    factory: factoryOf,
  };
}

const rpcTo =
  (url: string): TestGateway['rpc'] =>
  async (agent, body, { as = 'alice', headers = {} } = {}) => {
    const response = await fetch(`${url}/a2a/${agent}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${as}`,
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith('{') ? JSON.parse(text) : text,
    };
  };

/** Clients with the token of a caller. */
const factoryOf: TestGateway['factory'] = ({
  as = 'alice',
  binding = 'JSONRPC',
  legacy = false,
} = {}) => {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${as}`);
    return fetch(input, { ...init, headers });
  };
  const options = { fetchImpl, ...(legacy ? { legacyCompat: { enabled: true } } : {}) };
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
      preferredTransports: [binding],
    }),
  );
};

type Sent = Partial<Omit<Message, 'parts'>> & {
  readonly text?: string;
  readonly data?: unknown;
  readonly returnImmediately?: boolean;
};

/** A message with one part. */
export function sent({ text, data, returnImmediately = false, ...more }: Sent): SendMessageRequest {
  const content: Part['content'] =
    text === undefined ? { $case: 'data', value: data } : { $case: 'text', value: text };
  const message: Message = {
    messageId: randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  };
  return {
    tenant: '',
    message,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately,
    },
    metadata: undefined,
  };
}

/** A call of an action of the agent `tester`. */
export const called = (
  action: string,
  payload: object,
  more: Omit<Sent, 'text' | 'data'> = {},
): SendMessageRequest => sent({ data: { action: `test.${action}`, payload }, ...more });

/** A result that must be a task. */
export const taskIn = (result: Message | Task): Task => {
  if ('messageId' in result) throw new Error('a message was returned instead of a task');
  return result;
};

/** Value of the first part of the first artifact. */
export const resultIn = (task: Task): unknown => task.artifacts[0]?.parts[0]?.content?.value;
