/** One Edge behind both transports, called as by an external program. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, headers as newHeaders, type NatsConnection } from '@nats-io/transport-node';
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { routeListener, SERVER_OPTIONS } from '../../../channels/http/listener.ts';
import { startNatsEntryPoint } from '../../../channels/nats/entry-point.ts';
import type { Edge } from '../../../channels/edge/edge.ts';
import type { BearerGuesses } from '../../../channels/gateway/auth/bearer-guesses.ts';
import { defined } from '../../../protocols/defined.ts';
import { entryPointSubject } from '../../../protocols/subjects.ts';
import { connectNats } from '../../../runtime/cluster/nats-connection.ts';
import { type System, systemClock } from '../../../runtime/index.ts';
import { NatsPubsub } from '../../../runtime/pubsub/nats-pubsub.ts';

export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Record<string, unknown>;
};
export type Send = (
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  place?: { readonly domain: string; readonly tenant: string },
) => Promise<Reply>;

export type BothEntryPoints = {
  readonly http: Send;
  readonly nats: Send;
  /** a connection of an external program */
  readonly outside: NatsConnection;
  readonly env: string;
  close(): Promise<void>;
};

const NAMES = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'retry-after', 'www-authenticate'];
const silent = { warn: () => {}, error: () => {} };
let cells = 0;

export const openEntryPoints = async (
  edge: Edge,
  system: System,
  url: string,
  outstanding = { messages: 5_000, bytes: 2 ** 26 },
  guesses?: BearerGuesses,
): Promise<BothEntryPoints> => {
  const env = `env${cells++}`;
  const own = await connectNats({ servers: [url] });
  const outside = await connect({ servers: url });
  const pubsub = new NatsPubsub(own);
  const entryPoint = startNatsEntryPoint({
    edge,
    system,
    pubsub,
    env,
    node: 'one',
    clock: systemClock,
    outstanding,
    ...defined({ guesses }),
    log: silent,
  });
  await own.flush();
  const listener = routeListener({ routes: envelopeRoutes(edge), log: silent });
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    if (!listener(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    env,
    outside,
    http: async (body, headers) => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/envelopes`, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: { ...headers, 'content-type': 'application/json' },
      });
      const of = (name: string) => response.headers.get(name) ?? undefined;
      return replyOf(response.status, of, await response.text());
    },
    nats: async (body, headers, { domain, tenant } = { domain: 'test', tenant: 'acme' }) => {
      const sent = newHeaders();
      for (const [name, value] of Object.entries(headers)) sent.set(name, value);
      const subject = entryPointSubject('in', domain, env, tenant);
      const answer = await outside.request(subject, body, { headers: sent, timeout: 20_000 });
      const of = (name: string) => answer.headers?.get(name) || undefined;
      return replyOf(Number(of('status')), of, answer.string());
    },
    async close() {
      await entryPoint.close();
      server.close();
      server.closeAllConnections();
      await pubsub.close();
      await outside.close();
      await own.close();
    },
  };
};

const replyOf = (
  status: number,
  header: (name: string) => string | undefined,
  text: string,
): Reply => ({
  status,
  headers: Object.fromEntries(NAMES.map((name) => [name, header(name)])),
  body: JSON.parse(text) as Record<string, unknown>,
});
