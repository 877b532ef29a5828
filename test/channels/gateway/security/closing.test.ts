import type { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type Sockets, Upgrades } from '../../../../channels/gateway/transport/upgrades.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import { connectParams, eventually } from '../client.ts';
import { helloAs, newDevice } from '../devices/device-identity.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';

afterEach(closeAll);

test.each([
  ['a role', { role: '💥'.repeat(100) }],
  ['another role', { role: 'é'.repeat(100) }],
])('%s that is long and not ASCII is refused, and the gateway survives', async (_, more) => {
  const gateway = await openGateway();
  const client = await openChallenged(gateway);
  client.request('connect', connectParams(more), 'first');
  expect((await client.frame(({ id }) => id === 'first')).ok).toBe(false);
  const { code, reason } = await client.gone();
  expect(code).toBe(1008);
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
  expect(reason).not.toContain('\uFFFD');
  await openClient(gateway);
});

test('requests on a closing connection are ignored', async () => {
  const system = new FakeSessionSystem(undefined, { echo: true });
  const gateway = await openGateway(system);
  const [old, next] = [await openClient(gateway), await openClient(gateway)];
  const hello = old.frames.find(({ payload }) => payload?.type === 'hello-ok')!;
  // A client that continues and ignores the close frame.
  old.ws.pause();
  const { connId } = hello.payload.server;
  const resumed = await next.call('events.resume', { connId, seq: 0 });
  expect(resumed.ok).toBe(true);
  old.request('chat.send', { sessionKey: 'main', message: 'hi', idempotencyKey: 'late' });
  old.ws.resume();
  await old.gone();
  await next.call('chat.send', { sessionKey: 'main', message: 'hi', idempotencyKey: 'mine' });
  await eventually(
    () => system.asked.find(({ options }) => options.key === 'mine'),
    'the presence message',
  );
  expect(system.asked.some(({ options }) => options.key === 'late')).toBe(false);
});

test('a client that never finishes the closing handshake does not keep the gateway from closing', async () => {
  const gateway = await openGateway();
  const { port } = new URL(gateway.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  socket.on('error', () => {});
  const upgrade = [
    'GET / HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
  ];
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  socket.write([...upgrade, key, 'Sec-WebSocket-Version: 13', '', ''].join('\r\n'));
  await eventually(() => received.includes('connect.challenge') || undefined, 'the challenge');
  // An empty close frame, masked by zeros, as a client sends it; the client never ends its socket.
  socket.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
  await eventually(
    () => (received.at(-2) === 0x88 && received.at(-1) === 0) || undefined,
    'its answer',
  );
  await expect(gateway.close()).resolves.toBeUndefined();
  socket.destroy();
});

test('a client whose device cannot be looked up must retry, and the gateway survives', async () => {
  const system = new FakeSessionSystem();
  const gateway = await openGateway(system);
  const rows = system.index;
  const get = rows.get.bind(rows);
  system.index.get = () => {
    throw new TroupeError('UNAVAILABLE', 'the rows cannot be read now');
  };
  const client = await openChallenged(gateway);
  const params = connectParams({ auth: { deviceToken: 'some' } });
  const answer = await helloAs(client, newDevice(), params);
  expect(answer.error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  expect((await client.gone()).code).toBe(1008);
  system.index.get = get;
  await openClient(gateway);
});

const UPGRADE =
  'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

test('an upgrade that arrives while the gateway closes is refused, though it is the first', async () => {
  const gateway = await openGateway();
  const socket = connect({ port: gateway.port, host: '127.0.0.1' }).on('error', () => {});
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  const gone = new Promise((resolve) => socket.once('close', resolve));
  // The answer of the first request tells that the head of the second has begun to arrive.
  socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${UPGRADE}`);
  await eventually(() => received.includes('200 OK') || undefined, 'the first answer');
  const closed = gateway.close();
  socket.write('\r\n');
  await gone;
  expect(received).toContain('HTTP/1.1 503');
  await closed;
});

test('a client that leaves while the code for it is loaded is served nothing', async () => {
  let loaded = (_: Sockets): void => {};
  const served: unknown[] = [];
  const serve = (_: unknown, socket: unknown) => void served.push(socket);
  const upgrades = new Upgrades(
    () => new Promise<Sockets>((resolve) => (loaded = resolve)),
    () => {},
  );
  const request = { url: '/v1/inspect' } as IncomingMessage;
  const [left, stays] = [new Socket(), new Socket()];
  const serving = [left, stays].map((socket) => upgrades.serve(request, socket, Buffer.alloc(0)));
  left.destroy(new Error('reset'));
  await new Promise((resolve) => left.once('close', resolve));
  loaded({ inspections: { upgrade: serve }, clients: { upgrade: serve } } as unknown as Sockets);
  await Promise.all(serving);
  expect(served.map((socket) => socket === stays)).toEqual([true]);
});
