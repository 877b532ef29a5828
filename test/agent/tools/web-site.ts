/** A small web site on loopback: pages by path, and the received requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Page = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export type Site = {
  /** `http://127.0.0.1:{port}` */
  readonly url: string;
  /** `127.0.0.1:{port}` */
  readonly host: string;
  readonly port: number;
  readonly asked: string[];
};

export const html = (text: string): Page => answering('text/html; charset=utf-8', text);
export const answering =
  (type: string, body: string | Uint8Array, status = 200): Page =>
  (_, response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  };
export const redirecting =
  (location: string): Page =>
  (_, response) => {
    response.writeHead(302, { location });
    response.end();
  };

/** It stops when the test ends. */
export async function openSite(pages: Readonly<Record<string, Page>>): Promise<Site> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0]!;
    asked.push(`${request.method} ${request.url}`);
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const page = pages[path] ?? answering('text/plain', 'there is no such page', 404);
      page(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, port, asked };
}
