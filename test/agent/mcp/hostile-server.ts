/** An HTTP server that speaks just enough of MCP 2025-11-25 to answer with anything. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export type Answers = {
  /** the result of `tools/list` */
  readonly list?: unknown;
  /** the result of `tools/call`, or its HTTP response */
  readonly call?: object | ((response: ServerResponse, request: Request) => void);
  /** the HTTP response to a request with GET */
  readonly resume?: (response: ServerResponse, lastEventId: unknown) => void;
};

export type HostileServer = {
  readonly url: string;
  /** names of called tools */
  readonly calls: readonly string[];
  /** headers of the requests */
  readonly headers: readonly IncomingMessage['headers'][];
};

export type Request = {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
};

export async function startHostileServer({ list, call, resume }: Answers): Promise<HostileServer> {
  const calls: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => void answerTo(request, response));
  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push(request.headers);
    if (request.method === 'GET' && resume)
      return resume(response, request.headers['last-event-id']);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = (await json(request)) as Request;
    const { id, method, params } = message;
    const answer = (body: object) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize')
      return answer({
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'hostile', version: '1' },
        },
      });
    if (method === 'tools/list') return answer({ result: list ?? { tools: [] } });
    if (method !== 'tools/call')
      return answer({ error: { code: -32_601, message: 'unknown method' } });
    calls.push(params?.name ?? '');
    if (typeof call === 'function') return call(response, message);
    answer({ result: call });
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, calls, headers };
}
