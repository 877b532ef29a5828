import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { eventFrame, textFrame } from '../../../../channels/gateway/transport/text-frame.ts';

/** Around every change of the header's length, and of how events are joined. */
const LENGTHS = [0, 1, 100, 125, 126, 127, 4_070, 4_096, 4_097, 65_535, 65_536, 70_000, 300_000];

const server = createServer();
let client: WebSocket;
let socket: Socket;

beforeAll(async () => {
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, raw, head) => {
    socket = raw as Socket;
    sockets.handleUpgrade(request, raw, head, () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(client, 'open');
});

afterAll(() => {
  client.terminate();
  server.close();
});

const received = async (): Promise<string> => {
  const [bytes, isBinary] = (await once(client, 'message')) as [Buffer, boolean];
  expect(isBinary).toBe(false);
  return bytes.toString('utf8');
};

test.each(LENGTHS)('a text of %i characters is one message', async (length) => {
  const text = 'é'.repeat(length);
  const message = received();
  socket.write(textFrame(text));
  expect(await message).toBe(text);
});

test.each(LENGTHS)('an event of %i bytes is one message with its number', async (length) => {
  const rest = Buffer.from(`"type":"event","payload":"${'x'.repeat(length)}"}`);
  const message = received();
  for (const piece of eventFrame(12_345, rest)) if (piece) socket.write(piece);
  expect(JSON.parse(await message)).toEqual({
    seq: 12_345,
    type: 'event',
    payload: 'x'.repeat(length),
  });
});
