/** The port of a gateway with TLS, and clients that say nothing, too little or something else. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpServer } from '../../../../channels/gateway/transport/server.ts';
import { TLS_HANDSHAKE_MS } from '../../../../channels/gateway/transport/tls-server.ts';
import { scratchFolder } from '../../../runtime/config/folder.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { hasOpenssl, makeCertificates } from '../../../servers/certificates.ts';

async function start() {
  const folder = scratchFolder();
  makeCertificates(folder);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const pair = () => ({ cert: read('cert.pem'), key: read('key.pem') });
  const tls = { minVersion: 'TLSv1.2' as const, pair, onChange: () => {} };
  const server = await createHttpServer(tls, (_, response) => response.end('served'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  return { server, connections, port: (server.address() as AddressInfo).port, ca: read('ca.pem') };
}

async function open(port: number, first: string | Uint8Array = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.on('error', () => {});
  if (first.length > 0) socket.write(first);
  return socket;
}

const HALF_HELLO = Buffer.from([0x16, 3, 1]);

function statusAt(port: number, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', ca, agent: false }, (response) =>
      resolve(response.resume().statusCode),
    ).on('error', reject);
  });
}

describe.skipIf(!hasOpenssl)('a TLS port (skipped where openssl is not installed)', () => {
  it('closes without waiting for clients that do not finish their handshake', async () => {
    const { server, port, ca, connections } = await start();
    expect(await statusAt(port, ca)).toBe(200);
    await Promise.all([open(port), open(port), open(port, HALF_HELLO)]);
    await eventually(async () => expect(await connections()).toBe(3));
    let isClosed = false;
    server.close(() => (isClosed = true));
    await eventually(() => expect(isClosed).toBe(true), TLS_HANDSHAKE_MS / 2);
  });

  it('serves others beside them, and answers what is not TLS', async () => {
    const { port, ca, connections } = await start();
    const silent = await Promise.all(
      Array.from({ length: 200 }, (_, i) => open(port, i % 2 ? HALF_HELLO : '')),
    );
    expect(await statusAt(port, ca)).toBe(200);
    for (const socket of silent) socket.resetAndDestroy();
    (await open(port)).end();
    const preface = await open(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const halves = await open(port, 'GET / HT');
    halves.write('TP/1.1\r\nhost: x\r\n\r\n');
    for (const socket of [preface, halves])
      expect(await text(socket)).toMatch(/^HTTP\/1.1 400 .*use https:\/\/ or wss:\/\//s);
    await eventually(async () => expect(await connections()).toBe(0));
    expect(await statusAt(port, ca)).toBe(200);
  });

  it('accepts a handshake that comes in single bytes', async () => {
    const { port, ca } = await start();
    const socket = (await open(port)).setNoDelay();
    const slow = new Duplex({
      read() {},
      async write(chunk: Buffer, _, done) {
        for (const byte of chunk) {
          socket.write(Buffer.from([byte]));
          await turn();
        }
        done();
      },
    });
    socket.on('data', (data) => slow.push(data));
    const client = connectTls({ socket: slow, ca, servername: 'localhost' });
    await once(client, 'secureConnect');
    client.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await text(client)).toMatch(/^HTTP\/1.1 200 OK.*served$/s);
  });
});
