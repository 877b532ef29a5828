/** The gateway's plain HTTP: `/healthz`, `/readyz`, the page. Everything else is 404. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { System } from '../../runtime/index.ts';
import { isReady, shardsNotOwned } from './methods/health.ts';
import { type Page, SECURITY_HEADERS, servePage } from './web-page.ts';

export const httpListener =
  (system: System, page: Page): RequestListener =>
  (request, response) => {
    const path = (request.url ?? '/').split(/[?#]/, 1)[0] ?? '/';
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      json(request, response, 405, { error: 'only GET and HEAD are served here' });
    } else if (path === '/healthz') json(request, response, 200, { ok: true, status: 'live' });
    else if (path === '/readyz') ready(system, request, response);
    else if (!servePage(page, path, request, response)) {
      const error = path === '/' ? 'the page is not built: run npm run build' : 'not found';
      json(request, response, 404, { error });
    }
  };

const ready = (system: System, request: IncomingMessage, response: ServerResponse): void => {
  const shards = system.status();
  if (isReady(shards)) {
    json(request, response, 200, { ready: true, shards: shards.length });
    return;
  }
  const why = shardsNotOwned(shards).map((shard) => ({
    shard: shard.shard,
    state: shard.state,
    ...(shard.why === undefined ? {} : { why: shard.why }),
  }));
  json(request, response, 503, {
    ready: false,
    why: why.length > 0 ? why : 'no shard is open yet',
  });
};

const json = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object,
): void => {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
};
