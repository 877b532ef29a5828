/** A reverse proxy on this machine that reports a remote client for every request. */
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Gateway } from '../../../channels/index.ts';

export const ELSEWHERE_IP = '203.0.113.9';

export type Forwarder = {
  /** the gateway's URL, through the proxy */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
};

export const forwarder = async ({ port }: Pick<Gateway, 'port'>): Promise<Forwarder> => {
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, 'x-forwarded-for': ELSEWHERE_IP };
    const { method, url: path } = incoming;
    const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(answer);
    });
    sent.on('error', () => answer.destroy());
    incoming.pipe(sent);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const upstream = connect(port, '127.0.0.1');
    const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`];
    for (let at = 0; at < incoming.rawHeaders.length; at += 2)
      lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
    lines.push(`X-Forwarded-For: ${ELSEWHERE_IP}`, '', '');
    upstream.write(lines.join('\r\n'));
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${own}/`,
    port: own,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
