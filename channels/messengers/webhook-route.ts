/** The HTTP routes of webhooks: what a service sends to an account, at `/hooks/CHANNEL/ACCOUNT`. */
import { header, type Route, type RouteRequest } from '../http/route.ts';
import type { ChannelHost } from './channel-host.ts';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

export const webhookRoutes = (host: Pick<ChannelHost, 'webhook'>): readonly Route[] =>
  (['GET', 'POST'] as const).map((method) => ({
    method,
    path: '/hooks/{channel}/{account}',
    handle: (request) => handle(host, method, request),
  }));

async function handle(
  host: Pick<ChannelHost, 'webhook'>,
  method: 'GET' | 'POST',
  given: RouteRequest,
): Promise<void> {
  const { request, response, params, query } = given;
  const { channel = '', account = '' } = params;
  const answer = await host.webhook(
    { channel, account },
    {
      method,
      query,
      header: (name) => header(request, name),
      body: method === 'POST' ? await given.body(BODY_BYTES_MAX) : new Uint8Array(),
    },
  );
  response.writeHead(answer.status, {
    'content-type': answer.contentType ?? 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(answer.body ?? '');
}
