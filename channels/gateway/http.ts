/**
 * The gateway's plain HTTP: the routes of `channels/http`, `/healthz`, `/readyz`, the page. All
 * other paths are NOT_FOUND.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { defined } from '../../protocols/defined.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import { type Clock, clockFault, clockStatus, type System } from '../../runtime/index.ts';
import type { lateListener, Listener } from '../http/listener.ts';
import { refusalOf } from '../http/route.ts';
import { type GatewayAuth, onlyDirect, originAllowed } from './auth/access.ts';
import { type BearerGuesses, tooManyGuesses } from './auth/bearer-guesses.ts';
import { isReady, shardsNotOwned } from './tenant/health-report.ts';
import { type AddressList, whyNotDirect, remoteOf } from './auth/client-address.ts';
import { type Page, SECURITY_HEADERS, servePage } from './web-page.ts';

export type HttpOptions = {
  readonly system: System;
  readonly diskFault: (() => string | undefined) | undefined;
  readonly clockJump: (() => string | undefined) | undefined;
  readonly clock: Clock;
  readonly page: Page;
  readonly routes: Listener;
  /** serves what `routes` does not */
  readonly laterRoutes: ReturnType<typeof lateListener>;
  readonly authMode: GatewayAuth['mode'];
  readonly guesses: BearerGuesses;
  readonly proxies: AddressList;
};

export const httpListener =
  ({
    system,
    diskFault,
    clockJump,
    clock,
    page,
    routes,
    laterRoutes,
    authMode,
    guesses,
    proxies,
  }: HttpOptions): RequestListener =>
  (request, response) => {
    const path = (request.url ?? '/').split(/[?#]/, 1)[0] ?? '/';
    const fault = authMode === 'none' ? directnessFault(request, proxies) : undefined;
    if (path === '/healthz') json(request, response, 200, { ok: true, status: 'live' });
    else if (path === '/readyz') ready({ system, diskFault, clockJump, clock }, request, response);
    else if (fault !== undefined) refuse(request, response, 403, 'FORBIDDEN', fault);
    else if (page.has(path)) {
      if (isRead(request)) servePage(page, path, request, response);
      else {
        response.setHeader('allow', 'GET, HEAD');
        refuse(request, response, 405, 'INVALID_ARGUMENT', 'only GET and HEAD are served here');
      }
    } else {
      const serve = (refusedMs: number): void => {
        if (refusedMs > 0) refuseGuess(request, response, refusedMs);
        else if (!routes(request, response))
          void laterRoutes(request, response).then((isAnswered) => {
            if (!isAnswered) refuseUnknown(page, path, request, response);
          });
      };
      const refusedMs = guesses.refusedForMs(request, response);
      if (typeof refusedMs === 'number') serve(refusedMs);
      else void refusedMs.then(serve);
    }
  };

const refuseUnknown = (
  page: Page,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  const isBuilt = path !== '/' || page.size > 0;
  const message = isBuilt
    ? 'there is no resource at this path'
    : 'the page is not built: run npm run build';
  refuse(request, response, 404, 'NOT_FOUND', message);
};

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** Why mode `none` refuses a request; undefined when it comes directly from this machine. */
export const directnessFault = (
  request: IncomingMessage,
  proxies: AddressList,
): string | undefined => {
  const remote = remoteOf(request, proxies);
  const fault = whyNotDirect(remote);
  if (fault !== undefined) return onlyDirect(fault);
  const { origin, host } = request.headers;
  return originAllowed({ origin, host, remoteAddress: remote.address, mode: 'none' })
    ? undefined
    : 'pages of other hosts have no access';
};

const refuseGuess = (
  request: IncomingMessage,
  response: ServerResponse,
  refusedMs: number,
): void => {
  const { code, message } = tooManyGuesses(refusedMs);
  response.setHeader('retry-after', Math.ceil(refusedMs / 1_000));
  refuse(request, response, 429, code, message);
};

const refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  code: ErrorCode,
  message: string,
): void => {
  request.resume();
  json(request, response, status, refusalOf({ code, message }));
};

const ready = (
  {
    system,
    diskFault,
    clockJump,
    clock,
  }: Pick<HttpOptions, 'system' | 'diskFault' | 'clockJump' | 'clock'>,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  const shards = system.status();
  const disk = diskFault?.();
  // In a cluster other gateways accept what this one refuses. A process alone still serves reads.
  if (disk !== undefined && system.nodes().length > 0)
    return json(request, response, 503, { ready: false, why: disk, disk });
  if (isReady(shards)) {
    const fault = clockFault(clockStatus(shards, clock.wallMs())) ?? clockJump?.();
    const note = defined({ clock: fault, disk });
    json(request, response, 200, { ready: true, shards: shards.length, ...note });
    return;
  }
  const why = shardsNotOwned(shards).map((shard) => ({
    shard: shard.shard,
    state: shard.state,
    ...defined({ why: shard.why }),
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
