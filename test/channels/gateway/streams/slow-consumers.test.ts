/** The slow-consumer policy of a gateway with many clients, half of which do not read. */
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { connectParams, eventually, MAIN } from '../client.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway } from '../opened.ts';

let sockets: WebSocket[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  sockets = [];
  await closeAll();
});

/** Connects one after the other, within the limit per address, without validating frames. */
const come = async (url: string, count: number): Promise<readonly WebSocket[]> => {
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    const own: WebSocket[] = [];
    for (let n = lane; n < count; n += 8) {
      const socket = new WebSocket(url.replace('http', 'ws'));
      own.push(socket);
      await once(socket, 'message');
      const params = connectParams();
      socket.send(JSON.stringify({ type: 'req', id: 'hello', method: 'connect', params }));
      await once(socket, 'message');
    }
    return own;
  });
  const all = (await Promise.all(lanes)).flat();
  sockets.push(...all);
  return all;
};

test('clients that read nothing are closed individually, and the others receive every end', async () => {
  const system = new FakeSessionSystem();
  const gateway = await openGateway(system);
  const client = await openClient(gateway);
  const quick = await come(gateway.url, 12);
  const slow = await come(gateway.url, 12);
  const finals = new Map(quick.map((socket) => [socket, 0]));
  for (const socket of quick) {
    socket.on('message', (bytes: Buffer) => {
      if (bytes.includes('"state":"final"')) finals.set(socket, finals.get(socket)! + 1);
    });
  }
  const closed: number[] = [];
  for (const socket of slow) {
    socket.on('error', () => {});
    socket.on('close', (code) => closed.push(code));
    socket.pause();
  }
  // Ends are never omitted, so they fill the buffers of the slow clients.
  const answer = 'y'.repeat(5_000_000);
  const runs = 13;
  for (let run = 0; run < runs; run++) {
    const idempotencyKey = `r${run}`;
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey });
    system.finish(MAIN, answer);
    await client.chat('final', run + 1);
  }
  await eventually(
    () => ([...finals.values()].every((count) => count === runs) ? true : undefined),
    'every end at every client that reads',
  );
  for (const socket of slow) socket.resume();
  await eventually(() => (closed.length === slow.length ? true : undefined), 'the slow ones');
  expect(closed.every((code) => code === 1006 || code === 1008)).toBe(true);
  expect((await client.call('system-presence')).payload.length).toBe(quick.length + 1);
  expect(quick.every((socket) => socket.readyState === WebSocket.OPEN)).toBe(true);
}, 120_000);
