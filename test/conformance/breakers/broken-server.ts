/**
 * A server that breaks one rule. It is an HTTP proxy in front of a real endpoint,
 * with a fault that changes requests or responses; everything else is unchanged. URLs of the real
 * endpoint are rewritten to the proxy's in responses, and back in requests.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Envelope } from '../../../protocols/envelope.ts';

export type Headers = Readonly<Record<string, string>>;

/** A request; `envelope` is set when its body is one, or an object like one. */
export type Asked = {
  readonly method: string;
  /** with its query */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly envelope?: Envelope;
};
export type Answered = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
};
export type Pass = (asked: Asked) => Promise<Answered>;
export type Fault = (asked: Asked, pass: Pass) => Promise<Answered>;

export type BrokenDoor = { readonly url: string; close(): Promise<void> };

/** @param origin of the real endpoint, without a trailing slash */
export async function openBrokenServer(origin: string, fault: Fault): Promise<BrokenDoor> {
  const agent = new http.Agent({ keepAlive: true });
  const pass: Pass = (asked) => passOn(origin, agent, asked);
  let url = '';
  const server = http.createServer((request, response) => {
    const serve = async () => {
      const asked = await askedOf(request, (body) => replaced(body, url, origin));
      const { status, headers, body } = await fault(asked, pass);
      const shown = isJson(headers) ? replaced(body, origin, url) : body;
      response.writeHead(status, { ...headers, 'content-length': shown.length }).end(shown);
    };
    serve().catch((error: unknown) => {
      response.writeHead(500).end(`the proxy failed: ${String(error)}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
}

/** Headers of one hop only, or recomputed. */
const OF_THE_HOP = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding']);

const plain = (headers: http.IncomingHttpHeaders): Headers =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !OF_THE_HOP.has(name) && name !== 'content-length')
      .map(([name, value]) => [name, String(value)]),
  );

const isJson = (headers: Headers): boolean =>
  (headers['content-type'] ?? '').startsWith('application/json');

const replaced = (body: Buffer, from: string, to: string): Buffer =>
  body.includes(from) ? Buffer.from(body.toString().replaceAll(from, to)) : body;

async function askedOf(
  request: http.IncomingMessage,
  translate: (body: Buffer) => Buffer,
): Promise<Asked> {
  const { method = 'GET', url: path = '/', headers } = request;
  const body = translate(await contentsOf(request));
  const asked = { method, path, headers: plain(headers), body };
  const envelope = path === '/v1/envelopes' ? objectIn(body) : undefined;
  return envelope === undefined ? asked : { ...asked, envelope: envelope as Envelope };
}

async function contentsOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** undefined when the body is not a JSON object */
export function objectIn(body: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function passOn(origin: string, agent: http.Agent, asked: Asked): Promise<Answered> {
  const { method, path, headers, body } = asked;
  return new Promise((resolve, reject) => {
    const length = body.length > 0 || method === 'POST' ? { 'content-length': body.length } : {};
    const sent = http.request(origin + path, { method, agent, headers: { ...headers, ...length } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const { statusCode: status = 0 } = response;
      contentsOf(response).then(
        (contents) => resolve({ status, headers: plain(response.headers), body: contents }),
        reject,
      );
    });
    sent.end(body);
  });
}
