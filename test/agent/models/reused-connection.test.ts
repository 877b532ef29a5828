import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createOpenAiCompletionsProvider } from '../../../agent/models/openai-completions.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import { hearAll, patient, request } from './provider-contract.ts';

const chunk = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const body = chunk({ content: 'ok' }, null) + chunk({}, 'stop');
const answer =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nkeep-alive: timeout=600\r\n' +
  `connection: keep-alive\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Answers one request per connection, and closes the connection when a second one arrives. */
const startForgetful = async () => {
  const served = new WeakSet<Socket>();
  const sockets = new Set<Socket>();
  const seen = { connections: 0, hangUps: 0 };
  const server = createServer((socket) => {
    seen.connections++;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    let heard = '';
    socket.on('data', (bytes) => {
      if (served.has(socket)) {
        seen.hangUps++;
        return void socket.destroy();
      }
      heard += String(bytes);
      const [head = '', sent] = heard.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (sent === undefined || Buffer.byteLength(sent) < length) return;
      served.add(socket);
      socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return { seen, close, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
};

it('repeats a request once when the pooled connection was already closed', async () => {
  const { seen, close, baseUrl } = await startForgetful();
  try {
    const provider = createOpenAiCompletionsProvider({ id: 'p', baseUrl, models: [], clock });
    for (let turn = 0; turn < 3; turn++) {
      const heard = await hearAll(provider.stream(request({ model: 'qwen' }), patient()));
      expect(heard.error?.message).toBeUndefined();
      expect(heard.text).toBe('ok');
    }
    expect(seen.hangUps).toBeGreaterThan(0);
    expect(seen.connections).toBe(3);
  } finally {
    await close();
  }
});
