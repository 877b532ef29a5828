/**
 * An A2A agent on the SDK's own request handler, over node:http on loopback: JSON-RPC at `/rpc`,
 * HTTP+JSON at `/rest`, its card with an ETag, and its keys. The text of a message says what it
 * does.
 */
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AgentCard,
  type Message,
  type Part,
  Role,
  SendMessageRequest,
  SendMessageResponse,
  Task,
  TaskState,
} from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { onTestFinished } from 'vitest';

export type A2aAgentOptions = {
  /** default: any free port */
  readonly port?: number;
  /** default: a new one; an agent that returns after its end has its former one */
  readonly store?: InMemoryTaskStore;
  /** what the card has in addition */
  readonly card?: Partial<AgentCard> | ((url: string) => Partial<AgentCard>);
  /** writes the signatures of the card */
  readonly sign?: (card: AgentCard) => Promise<AgentCard>;
  readonly keys?: () => readonly unknown[];
  readonly cacheControl?: string;
  /** default JSON-RPC */
  readonly binding?: 'JSONRPC' | 'HTTP+JSON';
  /** answers instead of the agent, when it returns true */
  readonly intercept?: (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    body: string,
  ) => boolean;
};

export type A2aAgent = {
  readonly url: string;
  readonly port: number;
  readonly store: InMemoryTaskStore;
  readonly requests: { readonly path: string; readonly headers: http.IncomingHttpHeaders }[];
  /** messages that the executor received */
  readonly received: Message[];
  readonly cancelled: string[];
  /** completes a task that waits, with this text */
  finish(text: string): void;
  close(): Promise<void>;
};

export const textPart = (value: string): Part => partOf({ $case: 'text', value }, 'text/plain');
export const partOf = (
  content: NonNullable<Part['content']>,
  mediaType: string,
  filename = '',
): Part => ({ content, mediaType, filename, metadata: undefined });

export const agentCard = (url: string, binding: string, more: Partial<AgentCard> = {}) =>
  AgentCard.fromJSON({
    name: 'Weather',
    description: 'Knows the weather.',
    version: '2.1',
    supportedInterfaces: [
      {
        url: `${url}/${binding === 'JSONRPC' ? 'rpc' : 'rest'}`,
        protocolBinding: binding,
        protocolVersion: '1.0',
      },
    ],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'forecast', name: 'Forecast', description: 'Weather of a city', tags: ['sky'] }],
    ...more,
  });

/** Listens until the test ends, or `close`. */
export async function startA2aAgent(options: A2aAgentOptions = {}): Promise<A2aAgent> {
  const { store = new InMemoryTaskStore(), binding = 'JSONRPC' } = options;
  const executor = new ScriptedExecutor();
  const requests: A2aAgent['requests'] = [];
  let url = '';
  let handler: DefaultRequestHandler | undefined;
  const cardNow = async () => {
    const more = typeof options.card === 'function' ? options.card(url) : options.card;
    const card = agentCard(url, binding, more);
    return options.sign ? options.sign(card) : card;
  };
  const server = http.createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const body = Buffer.concat(chunks).toString();
      const path = request.url ?? '';
      requests.push({ path, headers: request.headers });
      if (options.intercept?.(request, response, body)) return;
      const json = (value: unknown, status = 200, headers: http.OutgoingHttpHeaders = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(value));
      };
      if (path === '/.well-known/jwks.json') return json({ keys: options.keys?.() ?? [] });
      const card = await cardNow();
      if (path === '/.well-known/agent-card.json') {
        const text = JSON.stringify(AgentCard.toJSON(card));
        const etag = `"${createHash('sha256').update(text).digest('hex')}"`;
        const headers = { etag, 'cache-control': options.cacheControl ?? 'max-age=60' };
        if (request.headers['if-none-match'] !== etag) return json(JSON.parse(text), 200, headers);
        response.writeHead(304, headers).end();
        return undefined;
      }
      handler ??= new DefaultRequestHandler(card, store, executor);
      const context = new ServerCallContext({ requestedVersion: '1.0' });
      if (path === '/rpc')
        return json(await new JsonRpcTransportHandler(handler).handle(body, context));
      return rest({ path, body, handler, context, json });
    })().catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const { received, cancelled } = executor;
  const finish = (text: string) => executor.finish(text);
  return { url, port, store, requests, received, cancelled, finish, close };
}

type Rest = {
  readonly path: string;
  readonly body: string;
  readonly handler: DefaultRequestHandler;
  readonly context: ServerCallContext;
  readonly json: (value: unknown, status?: number) => void;
};

async function rest({ path, body, handler, context, json }: Rest): Promise<void> {
  try {
    const [, id = '', cancel] = /^\/rest\/tasks\/([^:?]+)(:cancel)?/.exec(path) ?? [];
    if (path === '/rest/message:send') {
      const sent = await handler.sendMessage(
        SendMessageRequest.fromJSON(JSON.parse(body)),
        context,
      );
      const payload =
        'messageId' in sent
          ? ({ $case: 'message', value: sent } as const)
          : ({ $case: 'task', value: sent } as const);
      return json(SendMessageResponse.toJSON({ payload }));
    }
    const task = cancel
      ? await handler.cancelTask({ tenant: '', id, metadata: undefined }, context)
      : await handler.getTask({ tenant: '', id }, context);
    return json(Task.toJSON(task));
  } catch (error) {
    const { message, reason } = error as Error & { reason?: string };
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
    ];
    return json({ error: { code: 404, status: 'NOT_FOUND', message, details } }, 404);
  }
}

/**
 * `say X`: a message. `work`: a task that waits for `finish`. `ask`: one that asks for input.
 * `fail`, `reject`, `auth`: a task in that state. `parts`: a task with the data part as its
 * artifact. Anything else: a task that has completed.
 */
class ScriptedExecutor implements AgentExecutor {
  readonly received: Message[] = [];
  readonly cancelled: string[] = [];
  readonly #waiting: ((text: string) => void)[] = [];

  finish(text: string): void {
    for (const complete of this.#waiting.splice(0)) complete(text);
  }

  readonly execute = async (request: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { userMessage, taskId, contextId, task } = request;
    this.received.push(userMessage);
    const text = userMessage.parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
      .join('');
    const say = (words: string): Message => messageOf(words, { taskId, contextId });
    const status = (state: TaskState, words?: string) =>
      bus.publish(
        AgentEvent.statusUpdate({
          taskId,
          contextId,
          status: {
            state,
            message: words === undefined ? undefined : say(words),
            timestamp: new Date().toISOString(),
          },
          metadata: undefined,
        }),
      );
    if (text.startsWith('say ')) {
      bus.publish(AgentEvent.message(say(text.slice(4))));
      return bus.finished();
    }
    if (!task) bus.publish(AgentEvent.task(newTask(taskId, contextId)));
    const complete = (parts: Part[]) => {
      bus.publish(AgentEvent.artifactUpdate(artifactOf(parts, { taskId, contextId })));
      status(TaskState.TASK_STATE_COMPLETED);
    };
    if (text === 'work') {
      status(TaskState.TASK_STATE_WORKING, 'looking at the sky');
      complete([textPart(await new Promise<string>((done) => this.#waiting.push(done)))]);
    } else if (text === 'ask') status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?');
    else if (text === 'auth')
      status(TaskState.TASK_STATE_AUTH_REQUIRED, 'Log in at https://x.example');
    else if (text === 'fail') status(TaskState.TASK_STATE_FAILED, 'the sky fell');
    else if (text === 'reject') status(TaskState.TASK_STATE_REJECTED, 'not my job');
    else if (text === 'parts') {
      const [, data] = userMessage.parts;
      complete((data!.content!.value as unknown[]).map((part) => partFrom(part)));
    } else complete([textPart(`done: ${text}`)]);
    return bus.finished();
  };

  readonly cancelTask = (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    this.cancelled.push(taskId);
    const status = {
      state: TaskState.TASK_STATE_CANCELED,
      message: undefined,
      timestamp: undefined,
    };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }));
    bus.finished();
    return Promise.resolve();
  };
}

const partFrom = (json: unknown): Part =>
  Task.fromJSON({ id: '', artifacts: [{ artifactId: '', parts: [json] }] }).artifacts[0]!.parts[0]!;

const messageOf = (
  words: string,
  { taskId, contextId }: { readonly taskId: string; readonly contextId: string },
): Message => ({
  messageId: `m-${Math.random()}`,
  contextId,
  taskId,
  role: Role.ROLE_AGENT,
  parts: [textPart(words)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

const newTask = (id: string, contextId: string): Task => ({
  id,
  contextId,
  status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined },
  artifacts: [],
  history: [],
  metadata: undefined,
});

const artifactOf = (
  parts: Part[],
  { taskId, contextId }: { readonly taskId: string; readonly contextId: string },
) => ({
  taskId,
  contextId,
  artifact: {
    artifactId: 'a-1',
    name: 'forecast',
    description: '',
    parts,
    metadata: undefined,
    extensions: [],
  },
  append: false,
  lastChunk: true,
  metadata: undefined,
});
