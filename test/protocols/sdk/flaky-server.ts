/**
 * A proxy in front of a troupe that fails as networks and proxies do: planned faults apply to the
 * next envelopes, everything else passes. It records the requests.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Fault =
  /** not accepted: 503 with `Retry-After: 1` */
  | 'busy'
  /** not accepted: 429 with a time in HTTP's date format, at most one second ahead */
  | 'throttled'
  /** accepted, and the response is lost with the connection */
  | 'lost'
  /** accepted, and the connection breaks within the response */
  | 'half'
  /** a proxy's page instead of a response */
  | 'page'
  /** forwarded after the requests that arrived shortly after it */
  | 'late'
  | 'on time';

const LATE_MS = 300;

export type FlakyProxy = {
  readonly url: string;
  /** for the next envelopes, one each */
  plan(...faults: readonly Fault[]): void;
  /** the received envelopes, refused ones included, with their times, milliseconds */
  readonly came: readonly { readonly envelope: Sent; readonly atMs: number }[];
  close(): Promise<void>;
};
type Sent = { readonly idempotency_key: string; readonly seq: number };

export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const planned: Fault[] = [];
  const came: { envelope: Sent; atMs: number }[] = [];
  const server = createServer((incoming, answer) => {
    const meet = async () => {
      const body = await bytesOf(incoming);
      if (incoming.url !== '/v1/envelopes') return pass(target, incoming, body, answer);
      came.push({ envelope: JSON.parse(body.toString()) as Sent, atMs: performance.now() });
      return befall(planned.shift(), target, incoming, body, answer);
    };
    meet().catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan: (...faults) => void planned.push(...faults),
    came,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function befall(
  fault: Fault | undefined,
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  answer: ServerResponse,
): Promise<void> {
  if (fault === 'late') await sleep(LATE_MS);
  if (fault === undefined || fault === 'late' || fault === 'on time')
    return pass(target, incoming, body, answer);
  if (fault === 'page') return void answer.writeHead(502).end('<html>bad gateway</html>');
  if (fault === 'busy') return refuse(answer, 503, 'UNAVAILABLE', '1');
  if (fault === 'throttled')
    return refuse(answer, 429, 'RATE_LIMIT_EXCEEDED', new Date(Date.now() + 1_000).toUTCString());
  const taken = await forward(target, incoming, body);
  const contents = await bytesOf(taken);
  if (fault === 'half') {
    answer.writeHead(taken.statusCode ?? 500, { 'content-length': contents.length });
    await new Promise((resolve) => answer.write(contents.subarray(0, 20), resolve));
  }
  answer.destroy();
}

const refuse = (answer: ServerResponse, status: number, code: string, after: string): void => {
  answer.writeHead(status, { 'retry-after': after, 'content-type': 'application/json' });
  answer.end(JSON.stringify({ error: { code, message: 'not now' } }));
};

async function pass(
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  answer: ServerResponse,
): Promise<void> {
  const taken = await forward(target, incoming, body);
  answer.writeHead(taken.statusCode ?? 500, taken.headers);
  taken.on('error', () => answer.destroy()).pipe(answer);
  answer.on('close', () => taken.destroy());
}

const forward = (
  target: string,
  { method, url = '/', headers }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { host: _, ...kept } = headers;
    const sent = request(new URL(url, target), { method, headers: kept }, resolve);
    sent.on('error', reject).end(body);
  });

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
