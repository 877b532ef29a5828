/**
 * `troupe inspect`: prints the URL at which Stately's inspector receives actors, or sends their
 * frames to an inspector that runs already.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { connectionError } from '../../client/gateway-errors.ts';
import { defined } from '../../protocols/defined.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { exitCodes } from '../exit.ts';
import { gatewayOf, type TenantClientOptions } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

export type InspectOptions = TenantClientOptions & {
  readonly context?: boolean;
  readonly children?: boolean;
  /** WebSocket URL of an inspector, such as the one of createInspectorServer */
  readonly to?: string;
};

/** For an inspector that does not read. */
const BUFFERED_BYTES_MAX = 64 * 2 ** 20;

export async function inspect(actors: readonly string[], options: InspectOptions): Promise<number> {
  const { tenant, to, json } = options;
  // Reports a missing gateway, a wrong token and an unknown actor before a URL is printed.
  const send = await gatewayHttp(options);
  const query = new URLSearchParams(defined({ tenant }));
  for (const actor of actors)
    await send({ method: 'GET', path: `/v1/actors/${encodeURIComponent(actor)}?${query}` });
  const url = await inspectionUrl(actors, options);
  if (to !== undefined) return forward(url, to);
  if (json) printJson({ url });
  else process.stdout.write(`${url}\n`);
  return exitCodes.ok;
}

/** Includes the secret, because an inspector sends no headers. */
async function inspectionUrl(
  actors: readonly string[],
  { context, children, tenant, ...client }: InspectOptions,
): Promise<string> {
  const { url, token, password } = await gatewayOf(client);
  const query = new URLSearchParams(actors.map((actor) => ['actor', actor]));
  if (context) query.set('context', 'true');
  if (children) query.set('children', 'true');
  for (const [name, value] of Object.entries(defined({ tenant, token: token ?? password })))
    query.set(name, value);
  return `${url.replace(/\/$/, '')}/v1/inspect?${query}`;
}

/** Sends every frame on, until a signal or until one of both ends. */
async function forward(from: string, to: string): Promise<number> {
  const stopped = untilSignal();
  const inspector = new WebSocket(to);
  await opened(inspector, to);
  const source = new WebSocket(from);
  const ended = new Promise<void>((resolve) => {
    for (const socket of [source, inspector]) socket.once('close', () => resolve());
    stopped.addEventListener('abort', () => resolve());
  });
  source.on('message', (data: Buffer) => {
    if (inspector.bufferedAmount > BUFFERED_BYTES_MAX) inspector.terminate();
    else inspector.send(data.toString());
  });
  await opened(source, new URL(from).origin);
  process.stderr.write(`sending to ${to}; end with Ctrl-C\n`);
  await ended;
  source.close();
  inspector.close();
  return stopped.aborted ? exitCodes.interrupted : exitCodes.unreachable;
}

/** @throws TroupeError UNAVAILABLE when nothing answers there */
async function opened(socket: WebSocket, url: string): Promise<void> {
  try {
    await once(socket, 'open');
  } catch (error) {
    throw connectionError('unreachable', url, error as Error);
  }
  socket.on('error', () => {});
}
