/**
 * A gateway on a free port, and clients that validate every frame with the published protocol
 * package.
 */
import { NO_PLUGINS } from '../../../installation/installation-plugins.ts';
import { readPayload } from '../../../channels/gateway/devices/node-payloads.ts';
import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../../../channels/index.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import type { OperationServices } from '../../../operations/operation.ts';
import { createMetrics } from '../../../runtime/index.ts';
import type { System } from '../../../runtime/system.ts';
import { payloadComplaint, publishedComplaint } from '../../protocols/gateway/published.ts';
import { pauseAfter } from '../../runtime/eventually.ts';

// Loaded before tests wait: the first connection would load it, which takes seconds beside others.
await import('../../../channels/gateway/transport/sockets.ts');

export const TOKEN = 'a-token-of-the-test';
export const MAIN = 'agent:main:main';
const silent = () => {};
export const silentLog = { debug: silent, info: silent, warn: silent, error: silent };

const catalog = createModelCatalog({ providers: {} }, { clock: systemClock });

/** Models of the real catalog, and `offline/echo`, which no process offers. */
export const MODELS: GatewayOptions['models'] = {
  resolve: (name) => (name === 'offline/echo' ? { name } : catalog.resolve(name)),
  thinkingLevels: (name) => catalog.thinkingLevels(name),
};

/** The agents of a tenant. */
export const AGENTS = {
  defaultAgentId: 'main',
  mainKey: 'main',
  agents: [
    { id: 'main', model: 'offline/echo' },
    { id: 'second', model: 'offline/echo' },
  ],
};

/** The system of a test has no workspaces of agents. */
export const NO_NOTES = {
  search: () => Promise.reject(new Error('there are no notes')),
  list: () => Promise.resolve([]),
  read: () => Promise.resolve(undefined),
  assertBatches: () => {},
};

/** The system of a test has no bucket of files. */
export const NO_FILES = () => Promise.reject(new Error('there are no files'));

/** What operations use, of a system. @param options replace the defaults of the test */
export const testServices = (
  options: Pick<OperationServices, 'system'> & Partial<OperationServices>,
): OperationServices => ({
  metrics: createMetrics(),
  now: Date.now,
  models: () => MODELS,
  agents: () => AGENTS,
  hooks: () => [],
  remoteServers: () => [],
  plugins: NO_PLUGINS,
  disks: () => [],
  notices: () => [],
  configuration: {
    status: () => ({
      restartNeeded: [],
      applyNeeded: [],
      problems: [],
      cluster: { version: 0, values: {} },
    }),
    assertValues: () => {},
  },
  notes: NO_NOTES,
  erasure: { survey: () => Promise.reject(new Error('this system has no store')) },
  retention: {
    tenants: () => ['default'],
    ages: () => [],
    plan: () => Promise.reject(new Error('this system has no store')),
  },
  sign: NO_FILES,
  payloadText: (tenant, payload) => readPayload(undefined, tenant, payload),
  maskSecrets: (text) => text,
  ...options,
});

export const gatewayOn = (
  system: System,
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> =>
  startGateway({
    system,
    port: 0,
    host: '127.0.0.1',
    auth: { mode: 'token', token: TOKEN },
    tenant: 'default',
    ...AGENTS,
    operations: testServices({ system }),
    models: MODELS,
    version: '0.1.0',
    log: silentLog,
    clock: systemClock,
    ...options,
  });

export type Frame = {
  readonly type: 'res' | 'event';
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
  readonly seq?: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any field of any frame
  readonly payload?: any;
  readonly error?: {
    code: string;
    message: string;
    details?: Record<string, unknown>;
    retryAfterMs?: number;
  };
};

/** The validation errors of the published package; undefined for a valid frame. */
export const complaintAbout = (frame: Frame, method = ''): string | undefined => {
  const wrong = publishedComplaint(frame.type === 'res' ? 'ResponseFrame' : 'EventFrame', frame);
  if (wrong !== undefined) return wrong;
  if (frame.type === 'event') return payloadComplaint(frame.event ?? '', 'Event', frame.payload);
  if (!frame.ok) return publishedComplaint('ErrorShape', frame.error);
  return payloadComplaint(method, 'Result', frame.payload);
};

/**
 * Records and validates every frame of one connection, and sends any frame: also those that
 * `client/gateway-client.ts` never sends.
 */
export class Client {
  readonly frames: Frame[] = [];
  readonly complaints: string[] = [];
  readonly ws: WebSocket;
  closed: { code: number; reason: string } | undefined;
  readonly #methods = new Map<string, string>();
  #ids = 0;

  constructor(url: string, options: ClientOptions = {}) {
    this.ws = new WebSocket(url.replace('http', 'ws'), options);
    this.ws.on('message', (bytes) =>
      this.#take(JSON.parse((bytes as Buffer).toString('utf8')) as Frame),
    );
    this.ws.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    this.ws.on('error', () => {});
  }

  #take(frame: Frame): void {
    this.frames.push(frame);
    const complaint = complaintAbout(frame, this.#methods.get(frame.id ?? ''));
    if (complaint !== undefined) this.complaints.push(complaint);
  }

  /** Sends a request and returns its id. */
  request(method: string, params?: unknown, id = `${++this.#ids}`): string {
    this.#methods.set(id, method);
    this.ws.send(JSON.stringify({ type: 'req', id, method, params }));
    return id;
  }

  /** First answer of a request. */
  async call(method: string, params?: unknown): Promise<Frame> {
    const id = this.request(method, params);
    return this.frame((frame) => frame.id === id);
  }

  /** Resolves with the `nth` frame that fits, once there is one. */
  frame(fits: (frame: Frame) => boolean, nth = 1): Promise<Frame> {
    return eventually(() => this.frames.filter(fits)[nth - 1], `a frame of ${this.ws.url}`);
  }

  chat(state: string, nth = 1): Promise<Frame> {
    return this.frame(({ event, payload }) => event === 'chat' && payload.state === state, nth);
  }

  events(event: string): Frame[] {
    return this.frames.filter((frame) => frame.event === event);
  }

  async gone(): Promise<{ code: number; reason: string }> {
    return eventually(() => this.closed, 'the connection to close');
  }

  async close(): Promise<void> {
    if (this.ws.readyState === WebSocket.CLOSED) return;
    this.ws.close();
    await once(this.ws, 'close');
  }
}

export const connectParams = (more: object = {}) => ({
  minProtocol: 4,
  maxProtocol: 4,
  client: { id: 'test', version: '1.0.0', platform: 'linux', mode: 'test' },
  role: 'operator',
  scopes: ['operator.admin', 'operator.read', 'operator.write'],
  caps: ['tool-events'],
  auth: { token: TOKEN },
  ...more,
});

/** A client that completed the handshake. */
export const connected = async (
  gateway: Pick<Gateway, 'url'>,
  more: object = {},
): Promise<Client> => {
  const client = new Client(gateway.url);
  await client.frame(({ event }) => event === 'connect.challenge');
  const hello = await client.call('connect', connectParams(more));
  if (!hello.ok) throw new Error(`connect was refused: ${JSON.stringify(hello.error)}`);
  return client;
};

/** The value, as soon as it is defined. @throws after 10 s, naming the awaited value */
export const eventually = async <T>(find: () => T | undefined, what: string): Promise<T> => {
  const began = performance.now();
  // Made here, so that its stack names the test.
  const late = new Error(`waited 10 s without success for ${what}`);
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    const waitedMs = performance.now() - began;
    if (waitedMs > 10_000) throw late;
    await pauseAfter(waitedMs);
  }
};
