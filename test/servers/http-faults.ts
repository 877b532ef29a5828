/**
 * A local HTTP server for the servers of messengers, with faults by command: the next requests are
 * refused, cut or left without an answer, before or after the service has accepted them.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HttpFault = {
  /** only requests to paths that contain this text. Default: every request */
  readonly path?: string;
  /** the service has done what the request asked for before the fault */
  readonly accepted?: boolean;
} & (
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** the socket is closed without an answer */
  | { readonly kind: 'cut' }
  /** there is no answer */
  | { readonly kind: 'silent' }
);

export type Answer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};
export type Received = {
  readonly method: string;
  readonly url: URL;
  readonly header: (name: string) => string | undefined;
  readonly body: Buffer;
};

export type FaultyServer = {
  readonly url: string;
  readonly server: Server;
  /** used one by one, each for the first request that it applies to */
  readonly faults: HttpFault[];
  /** `METHOD /path` of each request */
  readonly requests: string[];
  close(): Promise<void>;
};

export async function openFaultyServer(
  serve: (request: Received) => Answer | Promise<Answer>,
): Promise<FaultyServer> {
  const faults: HttpFault[] = [];
  const requests: string[] = [];
  const server = createServer((incoming, response) => {
    void handle(incoming, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await receive(incoming);
    requests.push(`${request.method} ${request.url.pathname}`);
    const index = faults.findIndex(({ path = '' }) => request.url.pathname.includes(path));
    const fault = index < 0 ? undefined : faults.splice(index, 1)[0];
    if (fault === undefined) return answer(response, await serve(request));
    if (fault.accepted) await serve(request);
    if (fault.kind === 'cut') incoming.socket.destroy();
    if (fault.kind === 'answer') answer(response, fault);
  };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    faults,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return {
    method: incoming.method!,
    url: new URL(incoming.url!, 'http://local'),
    header: (name) => incoming.headers[name]?.toString(),
    body: Buffer.concat(chunks),
  };
}

function answer(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}

export const json = (status: number, value: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(value),
});
