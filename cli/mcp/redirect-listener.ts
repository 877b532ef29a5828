/**
 * Waits on 127.0.0.1 for the browser that returns from the page of an authorization server (RFC
 * 8252, section 7.3).
 *
 * Invariant: only a request for our path and host, with the `state` of the page, ends the wait;
 * others get an error page, so that no other site can end it. Pages contain no text of others
 * unescaped, and load nothing.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TroupeError } from '../../protocols/errors.ts';
import { escaped } from '../../charts/svg.ts';

const PATH = '/callback';

export type RedirectListener = {
  readonly redirectUrl: string;
  /** The parameters of the request with this state. @throws TroupeError DEADLINE_EXCEEDED */
  wait(this: void, state: string, waitMs: number): Promise<URLSearchParams>;
  /** Answers the browser, if it waits, and ends. May be repeated. */
  close(this: void, text?: string): Promise<void>;
};

type Waiting = { readonly state: string; readonly onAnswer: (answer: URLSearchParams) => void };

/** @param port 0: a free one @throws TroupeError UNAVAILABLE when it is taken */
export async function openRedirectListener(port: number): Promise<RedirectListener> {
  let waiting: Waiting | undefined;
  let browser: ServerResponse | undefined;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', redirectUrl);
    const { state, onAnswer } = waiting ?? {};
    const isOurs = request.method === 'GET' && url.pathname === PATH && hostFits(request, server);
    if (!isOurs) return reply(response, 404, 'There is nothing here.');
    if (browser || !onAnswer || url.searchParams.get('state') !== state)
      return reply(response, 400, 'This is not the login that troupe waits for.');
    browser = response;
    onAnswer(url.searchParams);
  });
  await listen(server, port);
  const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  return {
    redirectUrl,
    wait: (state, waitMs) =>
      new Promise((resolve, reject) => {
        const late = () =>
          reject(new TroupeError('DEADLINE_EXCEEDED', 'the login was not completed in time'));
        const timer = setTimeout(late, waitMs);
        waiting = {
          state,
          onAnswer(answer) {
            clearTimeout(timer);
            resolve(answer);
          },
        };
      }),
    async close(text = 'The login has ended.') {
      if (browser && !browser.writableEnded) reply(browser, 200, text);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
    },
  };
}

const hostFits = ({ headers }: IncomingMessage, server: Server): boolean =>
  headers.host === `127.0.0.1:${(server.address() as AddressInfo | null)?.port}`;

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      reject(new TroupeError('UNAVAILABLE', `port ${port} of 127.0.0.1 cannot be used: ${code}`)),
    );
    server.listen(port, '127.0.0.1', () => resolve());
  });

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(`<!doctype html><title>troupe</title><p>${escaped(text)}</p>\n`);
}
