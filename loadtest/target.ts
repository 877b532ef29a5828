/**
 * The installation under load: its connections and what the load generator may do there. It is
 * reached as any client reaches it, by WebSocket and HTTP.
 */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { GatewayClient } from '../client/gateway-client.ts';
import { isErrorCode, TroupeError } from '../protocols/errors.ts';

export type TargetOptions = {
  /** `ws://host:port` of the gateway */
  readonly url: string;
  /** the gateway's token or password; absent: the gateway requires none */
  readonly secret?: string;
  /** token of a program, for envelopes and MCP; default none */
  readonly bearer?: string;
  /** opens one connection after its handshake */
  readonly connect: () => Promise<GatewayClient>;
  /** WebSocket connections; requests use them in turn, many at a time on each */
  readonly sockets: number;
  /** HTTP connections, each with one request at a time; more requests wait in the client */
  readonly connections: number;
};

export type HttpAnswer = {
  readonly status: number;
  readonly text: string;
  readonly location?: string;
};

export type HttpOptions = {
  readonly method: 'GET' | 'POST';
  /** including the query */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** called when the request has a connection */
  readonly sent?: () => void;
};

export class Target {
  readonly bearer: string | undefined;
  readonly secret: string | undefined;
  readonly origin: string;
  readonly clients: readonly GatewayClient[];
  readonly #agent: HttpAgent;
  readonly #request: typeof httpRequest;
  #next = 0;

  private constructor(options: TargetOptions, clients: readonly GatewayClient[]) {
    this.secret = options.secret;
    this.bearer = options.bearer;
    this.clients = clients;
    this.origin = options.url.replace(/^ws/, 'http').replace(/\/+$/, '');
    const isSecure = this.origin.startsWith('https:');
    this.#request = isSecure ? httpsRequest : httpRequest;
    const pool = { keepAlive: true, maxSockets: options.connections, scheduling: 'fifo' } as const;
    this.#agent = isSecure ? new HttpsAgent(pool) : new HttpAgent(pool);
  }

  /** @throws TroupeError as `connect` */
  static async open(options: TargetOptions): Promise<Target> {
    // The first connection alone: what refuses it would refuse all.
    const clients = [await options.connect()];
    try {
      while (clients.length < options.sockets) clients.push(await options.connect());
    } catch (error) {
      for (const client of clients) client.close();
      throw error;
    }
    return new Target(options, clients);
  }

  /** The connections in turn. */
  client(): GatewayClient {
    return this.clients[this.#next++ % this.clients.length]!;
  }

  /** Follows no redirect. @throws Error of the connection */
  http(options: HttpOptions): Promise<HttpAnswer> {
    return this.#exchange(options, this.#agent);
  }

  #exchange(
    { method, path, headers, body, signal, sent }: HttpOptions,
    agent: HttpAgent | false,
  ): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const options = { method, agent, signal, headers: { ...headers } };
      const request = this.#request(`${this.origin}${path}`, options, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('aborted', () => reject(lost(this.origin)));
        response.on('end', () => {
          const { location } = response.headers;
          const text = Buffer.concat(parts).toString();
          const status = response.statusCode ?? 0;
          resolve({ status, text, ...(location === undefined ? {} : { location }) });
        });
      });
      if (sent) request.once('socket', sent);
      request.on('error', reject);
      request.end(body);
    });
  }

  /** `GET /metrics` on a connection of its own, so that it does not wait for the load. */
  metrics(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#exchange({ method: 'GET', path: '/metrics', headers, signal }, false);
  }

  close(): void {
    for (const client of this.clients) client.close();
    this.#agent.destroy();
  }
}

const lost = (origin: string) =>
  new TroupeError('UNAVAILABLE', `the connection to ${origin} was lost`);

/** JSON of a successful answer. @throws TroupeError what the target says otherwise */
export function bodyOf<T>({ status, text }: HttpAnswer): T {
  const body = parsed(text);
  if (status < 400 && body !== undefined) return body as T;
  const { code, message } = (body as { error?: Record<string, unknown> } | undefined)?.error ?? {};
  if (isErrorCode(code)) throw new TroupeError(code, typeof message === 'string' ? message : code);
  throw new TroupeError(codeOfStatus(status), `status ${status} ${text.slice(0, 200)}`);
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function codeOfStatus(status: number) {
  if (status === 401) return 'UNAUTHORIZED';
  if (status === 403) return 'FORBIDDEN';
  if (status === 404) return 'NOT_FOUND';
  if (status === 429) return 'RATE_LIMIT_EXCEEDED';
  return status >= 400 && status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE';
}
