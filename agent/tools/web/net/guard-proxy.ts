/**
 * A loopback proxy for the browser: pages, redirects, scripts and sockets reach only allowed
 * addresses (`addresses.ts`). The proxy resolves names itself and connects to the checked address,
 * so the browser's own lookups have no effect.
 *
 * Boundary: forwards bytes; it does not inspect TLS traffic.
 */
import http from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorData } from '../../../../protocols/errors.ts';
import { hostOf } from '../../../net/public-address.ts';
import { type AllowedHosts, checkedUrl, isAllowedHost, publicLookup } from './addresses.ts';

export type GuardProxy = {
  /** `http://127.0.0.1:{port}` */
  readonly url: string;
  close(): void;
};

const CONNECT_MS = 10_000;
const CONNECTIONS_MAX = 256;

export async function openGuardProxy(allowed: AllowedHosts): Promise<GuardProxy> {
  const lookup = publicLookup();
  const lookupFor = (url: URL) => (isAllowedHost(url, allowed) ? {} : { lookup });
  const server = http.createServer((request, response) => {
    try {
      const url = checkedUrl(request.url ?? '', allowed);
      const { 'proxy-connection': _, ...headers } = request.headers;
      const sent = http.request(
        url,
        { method: request.method, headers, agent: false, timeout: CONNECT_MS, ...lookupFor(url) },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
          answer.pipe(response);
        },
      );
      sent.on('error', (error) => refuse(response, error));
      response.on('close', () => sent.destroy());
      request.pipe(sent);
    } catch (error) {
      refuse(response, error);
    }
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('connect', (request, client: Duplex, head: Buffer) => {
    tunnel(request.url ?? '', client, head);
  });
  const tunnel = (target: string, client: Duplex, head: Buffer): void => {
    client.on('error', () => client.destroy());
    try {
      const url = checkedUrl(`https://${target}`, allowed);
      const port = Number(url.port || 443);
      const remote: Socket = connect({ host: hostOf(url), port, ...lookupFor(url) }, () => {
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        remote.write(head);
        remote.setTimeout(0);
        remote.pipe(client);
        client.pipe(remote);
      });
      remote.setTimeout(CONNECT_MS, () => remote.destroy(new Error('no answer in time')));
      remote.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
      remote.on('close', () => client.destroy());
      client.on('close', () => remote.destroy());
    } catch {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    }
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function refuse(response: http.ServerResponse, error: unknown): void {
  const { code, message } = errorData(error);
  if (response.headersSent) return void response.destroy();
  response.writeHead(code === 'FORBIDDEN' ? 403 : 502, { 'content-type': 'text/plain' });
  response.end(`troupe: ${message}\n`);
}
